//! Surfaces, textures and skies one call at a time, against what is known about them.

use crate::common::cpu;
use bytemuck::Zeroable;
use rayq::device::{Buffer, Device, Shape, cover, cpu::CpuDevice, launch};
use rayq::film::decode_srgb;
use rayq::layout::{Alias, LightProbeParams, LightingView, SkyTexel};
use rayq::model::{Image, Texels, Texture, Wrap};
use rayq::programs::LIGHT_PROBE;
use rayq::scene::SkyImage;
use rayq::scene::lighting::{Sky, Textures, Use, albedo_table, srgb_table};
use rayq_sim::{Options, SimDevice};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// The answers of a probe kernel to items of `N` numbers each.
fn probe<const N: usize>(
    device: &Arc<dyn Device>,
    kernel: &'static str,
    lighting: LightingView,
    detail: u32,
    items: &[[f32; N]],
) -> Vec<[f32; 4]> {
    let inputs = Buffer::from_slice(device, items.as_flattened(), "inputs").unwrap();
    let outputs = Buffer::<f32>::zeroed(device, 4 * items.len(), "outputs").unwrap();
    let params = LightProbeParams {
        lighting,
        inputs: inputs.ptr(),
        outputs: outputs.ptr(),
        count: items.len() as u64,
        stride: N as u32,
        detail,
    };
    let kernel = device.kernel(&LIGHT_PROBE.unit(&[]), kernel).unwrap();
    let shape: Shape = cover(&**device, params.count);
    // SAFETY: the parameters of the probe kernels, with as much room for answers as there are items.
    unsafe { launch(device, &kernel, shape, &params) }.unwrap();
    outputs.to_vec().unwrap().as_chunks().0.to_vec()
}

// ---- surfaces

/// Albedos (by sampling, by summing over directions), the integral of the density, the share of samples that go on.
fn albedos(items: &[[f32; 6]], detail: u32) -> Vec<[f32; 4]> {
    let device = cpu(2);
    let table = Buffer::from_slice(&device, albedo_table(), "albedos").unwrap();
    let lighting = LightingView { albedos: table.ptr(), ..LightingView::zeroed() };
    probe(&device, "probe_albedo", lighting, detail, items)
}

/// White surfaces send back all light, at every roughness, metallic share and angle.
#[test]
fn white_surfaces_lose_no_light() {
    let mut items = vec![];
    for roughness in 0..=20 {
        for metallic in [0.0, 0.3, 1.0] {
            for cosine in [0.01, 0.05, 0.2, 0.5, 0.8, 1.0] {
                items.push([cosine, roughness as f32 / 20.0, metallic, 1.0, 0.04, 1.0]);
            }
        }
    }
    for (item, [sampled, ..]) in items.iter().zip(albedos(&items, 200)) {
        let allowed = if item[0] < 0.05 { 0.02 } else { 0.006 };
        assert!((sampled - 1.0).abs() < allowed, "{item:?}: {sampled}");
    }
}

/// What `sample` does on average is what `scatter` says, and its density is the one that `scatter` tells.
#[test]
fn samples_follow_their_density() {
    let mut items = vec![];
    for roughness in [0.4, 0.6, 1.0] {
        for (metallic, base, f0, f90) in
            [(0.0, 0.8, 0.04, 1.0), (1.0, 0.6, 0.04, 1.0), (0.4, 0.7, 0.1, 0.5), (0.0, 0.5, 0.0, 0.0)]
        {
            for cosine in [0.3, 0.7, 1.0] {
                items.push([cosine, roughness, metallic, base, f0, f90]);
            }
        }
    }
    for (item, [sampled, summed, density, kept]) in items.iter().zip(albedos(&items, 600)) {
        assert!((sampled - summed).abs() < 0.003, "{item:?}: {sampled} and {summed}");
        assert!((density - kept).abs() < 0.003, "{item:?}: {density} and {kept}");
        assert!(sampled <= 1.0, "{item:?}: {sampled}");
    }
}

/// Without a coat the base alone is there, to the bit.
#[test]
fn a_surface_without_a_coat_scatters_its_base() {
    for [sampled, ..] in albedos(&[[0.3, 0.5, 0.0, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.5, 0.0, 0.0]], 64) {
        assert_eq!(sampled, 0.5);
    }
}

// ---- textures

const WIDTH: usize = 3;
const HEIGHT: usize = 4;

/// An image whose channels are all different.
fn image(texels: fn(Vec<[f64; 4]>) -> Texels) -> Image {
    let channel = |i: usize, c: usize| ((i * 37 + c * 101 + 13) % 256) as f64 / 255.0;
    let all = (0..WIDTH * HEIGHT).map(|i| [0, 1, 2, 3].map(|c| channel(i, c))).collect();
    Image { name: "test".into(), width: WIDTH as u32, height: HEIGHT as u32, texels: texels(all) }
}
fn bytes(texels: Vec<[f64; 4]>) -> Texels {
    Texels::Bytes(texels.iter().map(|t| t.map(|c| (c * 255.0).round() as u8)).collect())
}
fn words(texels: Vec<[f64; 4]>) -> Texels {
    Texels::Words(texels.iter().map(|t| t.map(|c| (c * 65535.0).round() as u16)).collect())
}
fn floats(texels: Vec<[f64; 4]>) -> Texels {
    Texels::Floats(texels.iter().map(|t| [t[0] as f32, t[1] as f32, t[2] as f32]).collect())
}

/// The texel in a column and row, linear.
fn texel(image: &Image, usage: Use, x: usize, y: usize) -> [f64; 4] {
    let linear = |code: f64| if usage == Use::Color { decode_srgb(code) } else { code };
    let decoded = |t: [f64; 4]| [linear(t[0]), linear(t[1]), linear(t[2]), t[3]];
    let i = y * WIDTH + x;
    match &image.texels {
        Texels::Bytes(t) => decoded(t[i].map(|c| f64::from(c) / 255.0)),
        Texels::Words(t) => decoded(t[i].map(|c| f64::from(c) / 65535.0)),
        Texels::Floats(t) => [f64::from(t[i][0]), f64::from(t[i][1]), f64::from(t[i][2]), 1.0],
    }
}

/// Which texel an index outside the image stands for.
fn wrapped(i: i64, size: usize, wrap: Wrap) -> usize {
    let size = size as i64;
    let place = match wrap {
        Wrap::Repeat => i.rem_euclid(size),
        Wrap::Mirror => {
            let i = i.rem_euclid(2 * size);
            if i < size { i } else { 2 * size - 1 - i }
        }
        Wrap::Clamp => i.clamp(0, size - 1),
    };
    place as usize
}

/// What glTF says about a texture at (u, v), in double precision.
fn wanted(image: &Image, texture: &Texture, usage: Use, [u, v]: [f32; 2]) -> [f64; 4] {
    let place = texture
        .transform
        .map(|[a, b, c]| f64::from(a) * f64::from(u) + f64::from(b) * f64::from(v) + f64::from(c));
    let (x, y) = (place[0] * WIDTH as f64, place[1] * HEIGHT as f64);
    let at = |x: i64, y: i64| {
        texel(image, usage, wrapped(x, WIDTH, texture.wrap[0]), wrapped(y, HEIGHT, texture.wrap[1]))
    };
    if !texture.smooth {
        return at(x.floor() as i64, y.floor() as i64);
    }
    let (x, y) = (x - 0.5, y - 0.5);
    let (i, j) = (x.floor() as i64, y.floor() as i64);
    let (s, t) = (x - x.floor(), y - y.floor());
    [0, 1, 2, 3].map(|c| {
        let row = |j: i64| at(i, j)[c] * (1.0 - s) + at(i + 1, j)[c] * s;
        row(j) * (1.0 - t) + row(j + 1) * t
    })
}

/// Whether rounding decides which texel is nearest.
fn is_on_border(texture: &Texture, [u, v]: [f32; 2]) -> bool {
    let [x, y] = texture.transform.map(|[a, b, c]| a * u + b * v + c);
    [x * WIDTH as f32, y * HEIGHT as f32].iter().any(|place| (place - place.round()).abs() < 1e-4)
}

/// Every kind of texel, wrap mode, filter and use, inside the image and far outside of it.
#[test]
fn textures_are_what_gltf_says() {
    let images: Vec<Arc<Image>> = [bytes, words, floats].map(|texels| Arc::new(image(texels))).into();
    let mut textures = Textures::default();
    let mut cases = vec![];
    for i in 0..images.len() as u32 {
        for wrap in [Wrap::Repeat, Wrap::Mirror, Wrap::Clamp] {
            for smooth in [false, true] {
                for usage in [Use::Color, Use::Data] {
                    let transform = [[0.75, -0.5, 0.125], [0.25, 1.5, -0.375]];
                    let texture = Texture { image: i, wrap: [wrap, Wrap::Mirror], smooth, transform };
                    let number = textures.add(&Some(texture), &images, usage);
                    cases.push((number, texture, usage));
                }
            }
        }
    }
    let places: Vec<[f32; 2]> =
        (0..400).map(|i| [(i % 20) as f32 * 0.31 - 3.01, (i / 20) as f32 * 0.37 - 2.03]).collect();
    let devices: [Arc<dyn Device>; 3] =
        [cpu(2), Arc::new(CpuDevice::baseline(1).unwrap()), Arc::new(SimDevice::new(4, Options::default()))];
    for (number, texture, usage) in cases {
        let mut first = vec![];
        for device in &devices {
            let views = Buffer::from_slice(device, &textures.views, "textures").unwrap();
            let texels = Buffer::from_slice(device, &textures.texels, "texels").unwrap();
            let srgb = Buffer::from_slice(device, &srgb_table(), "sRGB").unwrap();
            let lighting = LightingView {
                textures: views.ptr(),
                texels: texels.ptr(),
                srgb: srgb.ptr(),
                ..LightingView::zeroed()
            };
            let answers = probe(device, "probe_texture", lighting, number, &places);
            if first.is_empty() {
                first = answers;
            } else {
                assert_eq!(answers, first, "{texture:?} {usage:?}");
            }
        }
        for (place, answer) in places.iter().zip(first) {
            if is_on_border(&texture, *place) {
                continue;
            }
            let wanted = wanted(&images[texture.image as usize], &texture, usage, *place);
            let off = (0..4).map(|c| (f64::from(answer[c]) - wanted[c]).abs()).fold(0.0, f64::max);
            assert!(off < 3e-6, "{place:?} {texture:?} {usage:?}: {answer:?}, not {wanted:?}");
        }
    }
}

/// Coordinates that are huge or no numbers give some texel.
#[test]
fn wild_coordinates_give_a_texel() {
    let images = [Arc::new(image(bytes))];
    let mut textures = Textures::default();
    for wrap in [Wrap::Repeat, Wrap::Mirror, Wrap::Clamp] {
        let transform = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        textures.add(
            &Some(Texture { image: 0, wrap: [wrap; 2], smooth: true, transform }),
            &images,
            Use::Data,
        );
    }
    let device = cpu(1);
    let views = Buffer::from_slice(&device, &textures.views, "textures").unwrap();
    let texels = Buffer::from_slice(&device, &textures.texels, "texels").unwrap();
    let lighting = LightingView { textures: views.ptr(), texels: texels.ptr(), ..LightingView::zeroed() };
    let wild = [1e30, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3e9, -7.5e6, -1e-30, 0.999_999_94];
    let places: Vec<[f32; 2]> = wild.iter().flat_map(|u| wild.map(|v| [*u, v])).collect();
    for number in 0..3 {
        for (place, answer) in places.iter().zip(probe(&device, "probe_texture", lighting, number, &places)) {
            assert!(answer.iter().all(|c| (0.0..=1.0).contains(c)), "{place:?}: {answer:?}");
        }
    }
}

// ---- skies

/// A dim sky with a sun of one texel, and a pole that is not dark.
fn sunny() -> SkyImage {
    let (width, height) = (16u32, 8u32);
    let mut texels: Vec<[f32; 3]> =
        (0..width * height).map(|i| [0.2 + (i % 5) as f32 * 0.3, 0.1 * (i % 3) as f32, 0.4]).collect();
    texels[2 * 16 + 11] = [4000.0, 3000.0, 2000.0];
    texels[3] = [5.0, 5.0, 5.0];
    let image = Image { name: "sunny".into(), width, height, texels: Texels::Floats(texels) };
    SkyImage { image: Arc::new(image), turn: 0.3, scale: 1.5 }
}

/// A sky's arrays, and the memory that the view points into.
struct SkyBuffers {
    arrays: Sky,
    _texels: Buffer<SkyTexel>,
    _aliases: Buffer<Alias>,
    _rows: Buffer<f32>,
}

fn upload(device: &Arc<dyn Device>, sky: &SkyImage) -> (SkyBuffers, LightingView) {
    let arrays = Sky::new(sky);
    let texels = Buffer::from_slice(device, &arrays.texels, "sky").unwrap();
    let aliases = Buffer::from_slice(device, &arrays.aliases, "sky").unwrap();
    let rows = Buffer::from_slice(device, &arrays.rows, "sky").unwrap();
    let view = LightingView {
        sky: texels.ptr(),
        sky_aliases: aliases.ptr(),
        sky_rows: rows.ptr(),
        sky_width: sky.image.width,
        sky_height: sky.image.height,
        sky_turn: sky.turn,
        sky_chance: 1.0,
        ..LightingView::zeroed()
    };
    (SkyBuffers { arrays, _texels: texels, _aliases: aliases, _rows: rows }, view)
}

/// Directions, evenly over the sphere.
fn directions(rows: usize) -> Vec<[f32; 3]> {
    let columns = 2 * rows;
    let direction = |i: usize| {
        let y = 1.0 - 2.0 * ((i / columns) as f64 + 0.5) / rows as f64;
        let angle = TAU * ((i % columns) as f64 + 0.5) / columns as f64;
        let r = (1.0 - y * y).sqrt();
        [(r * angle.sin()) as f32, y as f32, (-r * angle.cos()) as f32]
    };
    (0..rows * columns).map(direction).collect()
}

#[test]
fn skies_are_picked_with_the_density_that_they_tell() {
    let device = cpu(2);
    let (buffers, view) = upload(&device, &sunny());
    let even = probe(&device, "probe_sky", view, 0, &directions(700));
    let integral = |of: fn(&[f32; 4]) -> f64| 4.0 * PI * even.iter().map(of).sum::<f64>() / even.len() as f64;
    let density = integral(|a| a[2].into());
    assert!((density - 1.0).abs() < 2e-3, "the density sums to {density}");
    let light = integral(|a| a[0].into());

    // Five numbers each, from the additive recurrence of the generalised golden ratio (x^6 = x + 1).
    let steps: Vec<f64> = (1..=5).map(|k| 1.0 / 1.134_724_138_401_519_4f64.powi(k)).collect();
    let numbers = |i: usize| [0, 1, 2, 3, 4].map(|k| ((i as f64 * steps[k]).fract() as f32).min(0.999_999_9));
    let items: Vec<[f32; 5]> = (0..60_000).map(numbers).collect();
    let picked = probe(&device, "probe_sky_sample", view, 0, &items);
    let looked: Vec<[f32; 3]> = picked.iter().map(|p| [p[0], p[1], p[2]]).collect();
    let seen = probe(&device, "probe_sky", view, 0, &looked);
    let mean = seen.iter().map(|s| f64::from(s[0]) / f64::from(s[2])).sum::<f64>() / seen.len() as f64;
    assert!((mean / light - 1.0).abs() < 5e-3, "{mean} by picking, {light} by looking everywhere");
    // A picked direction shows no more than a few times what its density promises: smoothing is allowed for.
    let promised = light;
    for s in &seen {
        assert!(f64::from(s[0]) / f64::from(s[2]) < 40.0 * promised, "{s:?}");
    }
    assert_eq!(buffers.arrays.rows.len(), 9);
}

/// The image's middle is -z, its right half +x, and a quarter turn takes what is ahead to the left.
#[test]
fn skies_lie_as_documented() {
    let mut texels = vec![[0.0; 3]; 8 * 4];
    texels[8 + 4] = [1.0, 0.0, 0.0]; // just right of the middle, just above the horizon
    texels[0..8].fill([0.0, 1.0, 0.0]); // the top
    let image = Arc::new(Image { name: "lie".into(), width: 8, height: 4, texels: Texels::Floats(texels) });
    let device = cpu(1);
    let angle = (PI / 8.0).sin_cos();
    let (right, ahead) = (angle.0 as f32, -angle.1 as f32);
    let up = 0.414_213_56f32; // the tangent of half of a row's 45 degrees
    for (turn, place) in [(0.0, [right, up, ahead]), (0.25, [ahead, up, -right])] {
        let (_buffers, view) = upload(&device, &SkyImage { image: image.clone(), turn, scale: 2.0 });
        let length = place.iter().map(|c| c * c).sum::<f32>().sqrt();
        let answers = probe(&device, "probe_sky", view, 0, &[place.map(|c| c / length), [0.0, 1.0, 0.0]]);
        assert!((answers[0][0] - 2.0).abs() < 1e-4, "turned by {turn}: {answers:?}");
        assert_eq!(answers[1][..2], [0.0, 2.0], "turned by {turn}");
    }
}
