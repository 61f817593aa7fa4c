// light_probe.cpp: what surfaces, textures and skies do, one call at a time, for tests that know the right answer.
#include "trace/environment.h"
#include "trace/ggx.h"

namespace rq {

RQ_INLINE void answer(const LightProbeParams &p, u64 i, float a, float b, float c, float d) {
    float *const to = p.outputs + 4 * i;
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
}

// (u, v) of an item: the texel there, of texture `detail`.
RQ_KERNEL(probe_texture, LightProbeParams) {
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        const float *const in = p.inputs + p.stride * i;
        const Float4 t = texture_at(p.lighting, p.detail, in[0], in[1]);
        answer(p, i, t.x, t.y, t.z, t.w);
    }
}

// (cosine, roughness, metallic, base, f0, f90) of a surface: its albedo by sampling and by summing over directions,
// the integral of the density of samples, and the share of samples that go on.
RQ_KERNEL(probe_albedo, LightProbeParams) {
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        const float *const in = p.inputs + p.stride * i;
        const Substance s{vec(in[3], in[3], in[3]), in[2], in[1], vec(in[4], in[4], in[4]), in[5]};
        const Vec3 out = vec(sqrt_exact(max_of(fma(-in[0], in[0], 1.0f), 0.0f)), 0.0f, in[0]);
        const Lobes lobes = lobes_of(p.lighting.albedos, s, out.z);
        const float step = reciprocal((float)p.detail);
        float sampled = 0.0f, kept = 0.0f, summed = 0.0f, density = 0.0f;
        for (u32 k = 0; k < p.detail; ++k) {
            float row_sampled = 0.0f, row_kept = 0.0f, row_summed = 0.0f, row_density = 0.0f;
            for (u32 l = 0; l < p.detail; ++l) {
                const float u = ((float)k + 0.5f) * step, v = ((float)l + 0.5f) * step;
                Onward on;
                if (sample(lobes, out, u, v, (float)((k * p.detail + l) * 2654435769u >> 8) * 0x1p-24f, on)) {
                    row_sampled += on.weight.x;
                    row_kept += 1.0f;
                }
                const Turn t = turn(v);
                const float r = sqrt_exact(fma(-u, u, 1.0f));
                const Scatter even = scatter(lobes, out, vec(r * t.cosine, r * t.sine, u));
                row_summed += even.share.x;
                row_density += even.pdf;
            }
            sampled += row_sampled, kept += row_kept, summed += row_summed, density += row_density;
        }
        const float per_sample = step * step, per_direction = 2.0f * per_sample * reciprocal(inverse_pi);
        answer(p, i, sampled * per_sample, summed * per_direction, density * per_direction, kept * per_sample);
    }
}

// A direction: red and green from there, the density with which the sky picks it, and 0.
RQ_KERNEL(probe_sky, LightProbeParams) {
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        const float *const in = p.inputs + p.stride * i;
        const Sky sky = image_sky(p.lighting, vec(in[0], in[1], in[2]));
        answer(p, i, sky.radiance.x, sky.radiance.y, sky.pdf, 0.0f);
    }
}

// Five random numbers: the direction that the sky picks by them, and its density.
RQ_KERNEL(probe_sky_sample, LightProbeParams) {
    const Items items = my_items(p.count);
    for (u64 i = items.first; i < items.end; i += items.step) {
        const float *const in = p.inputs + p.stride * i;
        const u32 texel = pick(p.lighting.sky_width * p.lighting.sky_height, in[0], in[1]);
        const Vec3 d = sample_sky(p.lighting, texel, in[2], in[3], in[4]);
        answer(p, i, d.x, d.y, d.z, image_sky(p.lighting, d).pdf);
    }
}

}  // namespace rq
