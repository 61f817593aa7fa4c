//! Launches that look at single operations: of the platform, of light, of rays; and at the device's limits.

use super::{CType, LightingView, Ptr, Quad, SceneView};
use bytemuck::{Pod, Zeroable};

layout! {
    /// A launch of one of the kernels of kernels/probe/light_probe.cpp.
    pub struct LightProbeParams {
        /// What they look at.
        pub lighting: LightingView,
        /// `stride` numbers an item.
        pub inputs: Ptr<f32>,
        /// Four numbers an item.
        pub outputs: Ptr<f32>,
        /// Items.
        pub count: u64,
        /// Numbers of each item's input.
        pub stride: u32,
        /// Samples of an item, along one side of a square, or the number of a texture.
        pub detail: u32,
    }

    /// A launch of one of the kernels of kernels/probe.
    pub struct ProbeParams {
        /// Tickets given out.
        pub counter: Ptr<u64>,
        /// `count` words.
        pub slots: Ptr<u64>,
        /// `count` numbers.
        pub values: Ptr<f32>,
        /// Length of the arrays.
        pub count: u64,
        /// Factor of the arithmetic.
        pub factor: f32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A launch of a litmus test: kernels/probe/litmus.cpp.
    pub struct LitmusParams {
        /// First word of each instance: `rounds` stretches of as many as there are lanes.
        pub x: Ptr<u64>,
        /// Second word, likewise.
        pub y: Ptr<u64>,
        /// Four words an instance.
        pub payload: Ptr<u64>,
        /// What each part saw: two words an instance.
        pub seen: Ptr<u32>,
        /// Waves that have come, of all rounds so far.
        pub arrived: Ptr<u32>,
        /// Which test.
        pub test: u32,
        /// 1: without the orders that the test is about.
        pub weakened: u32,
        /// Instances that a lane owns.
        pub rounds: u32,
        /// Looks at a word that is not there yet.
        pub looks: u32,
        /// Looks of waves for each other before a round.
        pub patience: u32,
        /// Of the placements.
        pub seed: u32,
    }

    /// A launch of one of the kernels of kernels/bench/limits.cpp; each uses a part of this.
    pub struct LimitParams {
        /// `length` quads to copy.
        pub source: Ptr<Quad>,
        /// Where they go.
        pub target: Ptr<Quad>,
        /// Words to add to or to swap.
        pub words: Ptr<u64>,
        /// A number for each lane.
        pub values: Ptr<f32>,
        /// Quads to copy, or words to swap.
        pub length: u64,
        /// How often each lane does it.
        pub rounds: u32,
        /// Factor of the multiply-adds.
        pub factor: f32,
    }

    /// A ray for the probe of trees.
    pub struct ProbeRay {
        /// Where it starts.
        pub origin: [f32; 3],
        /// Hits count up to here.
        pub t_max: f32,
        /// Unit direction.
        pub direction: [f32; 3],
        /// Unused.
        pub reserved: u32,
    }

    /// What a ray has hit.
    pub struct ProbeHit {
        /// Distance; `t_max` where nothing is hit.
        pub t: f32,
        /// Instance; 0xffffffff: a sphere or a plane, or nothing.
        pub instance: u32,
        /// Number of the triangle in its mesh, of the sphere, or of the plane after all spheres; 0xffffffff: nothing.
        pub number: u32,
        /// Nodes whose boxes were tested.
        pub nodes: u32,
        /// Triangles tested.
        pub triangles: u32,
    }

    /// A launch of one of the kernels that trace given rays.
    pub struct RayProbeParams {
        /// A general scene.
        pub scene: SceneView,
        /// `count` rays.
        pub rays: Ptr<ProbeRay>,
        /// What each has hit.
        pub hits: Ptr<ProbeHit>,
        /// Length of the arrays.
        pub count: u64,
    }
}
