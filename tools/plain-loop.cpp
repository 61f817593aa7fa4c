// plain-loop.cpp: what one would write instead of rayq on one core: the two reference scenes in plain C++, the loop
// over spheres left to the compiler's vectoriser. tools/cpu-pair.py builds it, runs it beside rayq and compares.
//
//   plain-loop complex|cornell [FRAMES]      1280x720; prints rays, sum of the picture, and seconds of each frame
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

struct Vec {
    float x, y, z;
};
static Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static Vec operator*(Vec a, Vec b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
static Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
static float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static Vec unit(Vec a) { return a * (1.0f / std::sqrt(dot(a, a))); }

struct Surface {
    Vec albedo;
    float mirror;
};
struct Plane {
    Vec normal;
    float offset;
    Surface surface;
};
struct Scene {
    std::vector<float> x, y, z, radius;  // spheres, a structure of arrays
    std::vector<Surface> surfaces;
    std::vector<Plane> planes;
    Vec eye, forward;
    int bounces;

    void sphere(Vec c, float r, Surface s) {
        x.push_back(c.x), y.push_back(c.y), z.push_back(c.z), radius.push_back(r), surfaces.push_back(s);
    }
};

static Scene complex_scene() {
    static const Surface kinds[] = {{{.9f, .9f, .9f}, .9f}, {{.9f, .5f, .2f}, .6f}, {{.2f, .8f, .9f}, .3f},
                                    {{.7f, .2f, .8f}, .1f}, {{.2f, .9f, .3f}, 0},   {{.9f, .2f, .2f}, 0},
                                    {{.8f, .8f, .3f}, 0}};
    Scene s;
    for (int iz = 0; iz < 10; ++iz)
        for (int ix = 0; ix < 10; ++ix)
            s.sphere({(ix - 4.5f) * 0.55f, 0.25f, -2 - 0.55f * iz}, 0.22f, kinds[(ix + 7 * iz) % 7]);
    s.sphere({-1.2f, .6f, -3.5f}, .6f, {{.9f, .3f, .3f}, .7f});
    s.sphere({1.4f, .9f, -4.2f}, .9f, {{.3f, .9f, .4f}, .2f});
    s.sphere({0, 1.3f, -5.5f}, 1.3f, {{.4f, .6f, .95f}, 0});
    s.planes = {{{0, 1, 0}, 1, {{.75f, .75f, .75f}, .05f}}};
    s.eye = {0, .3f, .5f}, s.forward = {0, -.2f, -1}, s.bounces = 2;
    return s;
}

static Scene cornell_scene() {
    Scene s;
    s.sphere({-.6f, .5f, -2.5f}, .5f, {{.9f, .3f, .3f}, .85f});
    s.sphere({.6f, .6f, -2.8f}, .6f, {{.95f, .95f, .95f}, .95f});
    s.planes = {{{0, 1, 0}, 1, {{.9f, .9f, .9f}, .3f}},
                {{0, 0, 1}, 5, {{.6f, .65f, .8f}, .7f}},
                {{1, 0, 0}, 2, {{.8f, .2f, .2f}, .6f}},
                {{-1, 0, 0}, 2, {{.2f, .8f, .3f}, .6f}},
                {{0, -1, 0}, 2.5f, {{.95f, .95f, .95f}, .2f}}};
    s.eye = {0, .5f, 1.5f}, s.forward = {0, -.1f, -1}, s.bounces = 4;
    return s;
}

constexpr float far_away = 1e30f, nearest = 1e-4f;

// Distances of all spheres, then the smallest of them: both loops vectorise.
static float hit_spheres(const Scene &s, Vec o, Vec d, float *distance, int &which) {
    const int n = (int)s.x.size();
    const float *x = s.x.data(), *y = s.y.data(), *z = s.z.data(), *r = s.radius.data();
    float best = far_away;
    for (int i = 0; i < n; ++i) {
        const float ox = x[i] - o.x, oy = y[i] - o.y, oz = z[i] - o.z;
        const float b = ox * d.x + oy * d.y + oz * d.z;
        const float disc = b * b - (ox * ox + oy * oy + oz * oz) + r[i] * r[i];
        const float root = std::sqrt(disc > 0 ? disc : 0);
        const float front = b - root, back = b + root;
        const float t = front > nearest ? front : back;
        distance[i] = disc > 0 && t > nearest ? t : far_away;
        best = distance[i] < best ? distance[i] : best;
    }
    which = -1;
    if (best < far_away)
        for (which = 0; distance[which] != best;) ++which;
    return best;
}

static Vec trace(const Scene &s, Vec o, Vec d, float *distance, long &rays) {
    static const Vec light = unit({-.5f, 1, .2f});
    Vec color{0, 0, 0}, weight{1, 1, 1};
    for (int bounce = 0; bounce <= s.bounces; ++bounce) {
        ++rays;
        int which;
        float t = hit_spheres(s, o, d, distance, which);
        const Plane *plane = nullptr;
        for (const Plane &p : s.planes) {
            const float tp = -(dot(p.normal, o) + p.offset) / dot(p.normal, d);
            if (tp > nearest && tp < t) t = tp, plane = &p;
        }
        if (t >= far_away) {
            const float up = 0.5f * (d.y + 1);
            return color + weight * (Vec{1, 1, 1} * (1 - up) + Vec{.5f, .7f, 1} * up);
        }
        const Vec point = o + d * t;
        const Surface &m = plane ? plane->surface : s.surfaces[which];
        Vec normal = plane ? plane->normal : unit(point - Vec{s.x[which], s.y[which], s.z[which]});
        if (dot(normal, d) > 0) normal = normal * -1;
        const float facing = dot(normal, light);
        const Vec direct = Vec{.05f, .05f, .05f} + m.albedo * (facing > 0 ? facing : 0);
        color = color + weight * direct * (1 - m.mirror);
        if (!(m.mirror > 0)) return color;
        weight = weight * m.albedo * m.mirror;
        o = point + normal * 1e-4f;
        d = d - normal * (2 * dot(normal, d));
    }
    return color;
}

int main(int argc, char **argv) {
    if (argc < 2) return std::fprintf(stderr, "plain-loop complex|cornell [FRAMES]\n"), 2;
    const Scene scene = std::strcmp(argv[1], "cornell") == 0 ? cornell_scene() : complex_scene();
    const int frames = argc > 2 ? std::atoi(argv[2]) : 1;
    constexpr int width = 1280, height = 720;
    std::vector<Vec> picture(width * height);
    std::vector<float> distance(scene.x.size());
    for (int frame = 0; frame < frames; ++frame) {
        long rays = 0;
        const auto start = std::chrono::steady_clock::now();
        for (int row = 0; row < height; ++row)
            for (int column = 0; column < width; ++column) {
                const float u = ((column + .5f) * 2 / width - 1) * width / height, v = 1 - (row + .5f) * 2 / height;
                const Vec d = unit(scene.forward + Vec{u, v, 0});
                picture[row * width + column] = trace(scene, scene.eye, d, distance.data(), rays);
            }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        double sum = 0;
        for (const Vec &p : picture) sum += p.x + p.y + p.z;
        std::printf("%ld %.3f %.6f\n", rays, sum, took.count());
    }
}
