//! Pictures that surfaces wear, and how they lie.

use super::{case, good};
use glam::Vec2;
use rayq::model::{self, Texels, Wrap};
use std::path::Path;

#[test]
fn e30_texture_transforms_turn_the_right_way() {
    let model = good(&case("E30/xf.gltf"));
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    let texture = model.surfaces[0].base_texture.expect("a texture");
    let [[a, b, c], [d, e, f]] = texture.transform;
    let (u, v) = (0.75, 0.5);
    let place = Vec2::new(a * u + b * v + c, d * u + e * v + f);
    assert!(place.abs_diff_eq(Vec2::new(0.125, 0.625), 1e-6), "{place}");
    assert!(!texture.smooth && texture.wrap == [Wrap::Repeat; 2]);
}

#[test]
fn e32_palettes_of_every_depth() {
    let red = [255, 0, 0, 255];
    for (name, entry) in [("p1", red), ("p2", red), ("p4", [40, 80, 120, 255]), ("p8", [40, 80, 120, 255])] {
        let model = good(&case(&format!("E32/{name}.gltf")));
        let Texels::Bytes(texels) = &model.images[0].texels else { panic!("8 bits") };
        assert_eq!(texels[8], entry, "{name}");
    }
    let clear = good(&case("E32/q8.gltf"));
    let Texels::Bytes(texels) = &clear.images[0].texels else { panic!("8 bits") };
    assert_eq!(texels[8], [40, 80, 120, 0], "tRNS makes the entry's alpha 0");
    assert_eq!(clear.surfaces[0].alpha_cutoff, None, "which an opaque material does not read");
}

#[test]
fn e34_gltf_textures_count_from_the_first_row() {
    let model = good(&case("E34/v.gltf"));
    assert_eq!(model.meshes[0].uvs[0], Vec2::splat(0.25));
    let Texels::Bytes(texels) = &model.images[0].texels else { panic!("8 bits") };
    let corners: Vec<[u8; 3]> = texels.iter().map(|&[r, g, b, _]| [r, g, b]).collect();
    assert_eq!(corners, [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]);
}

#[test]
fn e36_hopeless_pictures_are_refused() {
    for (name, wanted) in [
        ("big", "100000 x 100000 texels are too many"),
        ("cut", "is broken"),
        ("notpng", "is not a PNG, JPEG or Radiance HDR picture"),
    ] {
        let error = model::load(&case(&format!("E36/{name}.gltf"))).expect_err("a bad picture").to_string();
        let place = format!("{}: ", case(&format!("E36/{name}.png")).display());
        assert!(error.starts_with(&place) && error.contains(wanted), "{error}");
    }
    // More than the decoder looks at.
    let mut bytes = std::fs::read(case("E36/big.png")).expect("shipped");
    bytes[16..24].copy_from_slice(&[0x77, 0x35, 0x94, 0, 0x77, 0x35, 0x94, 0]);
    let error = model::image::decode(Path::new("b.png"), &with_crc(bytes)).expect_err("a bad picture");
    let wanted = "2000000000 x 2000000000 texels are too many; allowed: 32768 a side and 134217728 together";
    assert!(error.to_string().contains(wanted), "{error}");
    // Within the limits, but more than so few bytes can hold.
    let mut bytes = std::fs::read(case("E36/big.png")).expect("shipped");
    bytes[16..24].copy_from_slice(&[0, 0, 32, 0, 0, 0, 32, 0]);
    let error = model::image::decode(Path::new("b.png"), &with_crc(bytes)).expect_err("a bad picture");
    assert!(error.to_string().contains("8192 x 8192 texels are more than a picture of"), "{error}");
}

/// What formats other than PNG claim about themselves.
#[test]
fn heads_that_claim_too_much_are_refused() {
    let too_many =
        "65535 x 65535 texels are too many; allowed: 32768 a side and 134217728 together; make it smaller";
    let refusal =
        |bytes: &[u8]| model::image::decode(Path::new("a"), bytes).expect_err("a bad picture").to_string();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sampler/tiles.jpg");
    let mut jpeg = std::fs::read(assets).expect("shipped");
    let frame = jpeg.windows(2).position(|two| two == [0xff, 0xc0]).expect("a baseline JPEG");
    jpeg[frame + 5..frame + 9].fill(0xff);
    assert!(refusal(&jpeg).contains(too_many), "{}", refusal(&jpeg));
    assert!(refusal(b"#?RADIANCE\n\n-Y 65535 +X 65535\n").contains(too_many));
    for line in [&b"A=1\n"[..], b"# ", b"EXPOSURE=1", b"\n"] {
        let endless = [&b"#?RADIANCE\n"[..], &line.repeat(1 << 17)].concat();
        let text = refusal(&endless);
        let wanted =
            if line == b"\n" { "is broken: " } else { "its head does not end within 65536 bytes, the limit" };
        assert!(text.contains(wanted), "{text}");
    }
}

/// Mends the checksum of a PNG's header.
fn with_crc(mut png: Vec<u8>) -> Vec<u8> {
    let mut crc = !0u32;
    for &byte in &png[12..29] {
        crc ^= u32::from(byte);
        (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    }
    png[29..33].copy_from_slice(&(!crc).to_be_bytes());
    png
}

#[test]
fn jpeg_textures_are_decoded() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sampler/tiles.jpg");
    let image = model::image::load(&file).expect("a good picture");
    let Texels::Bytes(texels) = &image.texels else { panic!("8 bits") };
    assert_eq!((image.width, image.height, texels.len()), (64, 64, 64 * 64));
    // The stones as tools/make-sampler.py paints them.
    for (x, y, stone) in
        [(5u32, 5u32, [122.0, 128.0, 138.0]), (40, 5, [196.0, 186.0, 168.0]), (50, 50, [122.0, 128.0, 138.0])]
    {
        let shade = 12.0 * (f64::from(x) * 0.31).sin() * (f64::from(y) * 0.23).sin();
        let [r, g, b, a] = texels[(y * 64 + x) as usize];
        for (got, wanted) in [r, g, b].into_iter().zip(stone) {
            assert!((f64::from(got) - wanted - shade).abs() < 8.0, "{x} {y}: {got}, {}", wanted + shade);
        }
        assert_eq!(a, 255);
    }
    let mut bytes = std::fs::read(&file).expect("shipped");
    bytes.truncate(bytes.len() / 2);
    let error = model::image::decode(Path::new("half.jpg"), &bytes).expect_err("half a picture").to_string();
    assert!(error.starts_with("half.jpg: is broken: "), "{error}");
}

#[test]
fn radiance_pictures_are_linear() {
    let mut bytes = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n".to_vec();
    bytes.extend([128, 64, 32, 129, 0, 0, 0, 0]);
    let image = model::image::decode(Path::new("a.hdr"), &bytes).expect("a good picture");
    assert_eq!(image.texels, Texels::Floats(vec![[1.0, 0.5, 0.25], [0.0; 3]]));
    // Longer than a head may be, as most are.
    let mut long = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 256 +X 256\n".to_vec();
    long.extend([128, 64, 32, 129].repeat(256 * 256));
    let image = model::image::decode(Path::new("b.hdr"), &long).expect("a good picture");
    assert_eq!((image.width, image.height), (256, 256));
}
