//! Mouse and keys, as commands.

use super::canvas::Area;
use crate::session::{Command, Dial, Frame};
use minifb::{InputCallback, Key, MouseButton, MouseMode, Window};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The keys, as H shows them.
pub const KEYS: &str = "\
drag          go around the middle
Shift drag    move along the picture
wheel         nearer, farther
arrows        go around; Shift: look around
W A S D E Q   fly; up and down
PgUp PgDn     nearer, farther
R             back to the scene's view
G K P         next engine, queue, policy
I V           next integrator, next view
+ -           brighter, darker
Space         pause, go on
X             save the picture
L             save its light: an EXR
C             write a copy of the scene
O             hide or show the figures
H             hide or show these keys
Esc           end";

/// Radians a second of the arrow keys; distances a second of the others.
const SPEED: f32 = 1.2;
/// Radians over the height of the picture.
const TURN: f32 = 3.0;
/// The longest step of a held key: after a pause of the window nothing jumps.
const LONGEST: Duration = Duration::from_millis(100);

/// What is wanted of the window itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To end.
    End,
    /// The picture in a file.
    Picture,
    /// Its light in a linear EXR.
    Light,
    /// A copy of the scene with this view.
    Scene,
    /// The figures, or not.
    Figures,
    /// The keys, or not.
    Keys,
}

/// What was pressed when last looked at.
pub struct Input {
    mouse: Option<(f32, f32)>,
    when: Instant,
    keyboard: Rc<RefCell<Keyboard>>,
}

/// Keys as their events come: a tap that is over before anybody looks is a tap all the same.
#[derive(Debug, Default)]
struct Keyboard {
    down: Vec<Key>,
    tapped: Vec<Key>,
}

/// The window's end of a keyboard.
struct Listener(Rc<RefCell<Keyboard>>);

impl InputCallback for Listener {
    fn add_char(&mut self, _: u32) {}

    fn set_key_state(&mut self, key: Key, is_down: bool) {
        let mut keyboard = self.0.borrow_mut();
        // A key that repeats is pressed again without having been let go.
        if is_down && !keyboard.down.contains(&key) {
            keyboard.down.push(key);
            keyboard.tapped.push(key);
        } else if !is_down {
            keyboard.down.retain(|down| *down != key);
        }
    }
}

impl Input {
    /// Listens to a window.
    pub fn new(window: &mut Window) -> Input {
        let keyboard = Rc::new(RefCell::new(Keyboard::default()));
        window.set_input_callback(Box::new(Listener(Rc::clone(&keyboard))));
        Input { mouse: None, when: Instant::now(), keyboard }
    }

    /// Everything since the last time.
    pub fn read(&mut self, window: &Window, frame: Option<&Frame>) -> (Vec<Command>, Vec<Wish>) {
        let mut commands = vec![];
        let time = self.when.elapsed().min(LONGEST).as_secs_f32();
        self.when = Instant::now();
        if let Some(frame) = frame {
            self.mouse(window, frame, &mut commands);
        }
        let tapped = std::mem::take(&mut self.keyboard.borrow_mut().tapped);
        held(window, &tapped, time * SPEED, &mut commands);
        let mut wishes = vec![];
        for key in tapped {
            pressed(key, frame, &mut commands, &mut wishes);
        }
        (commands, wishes)
    }

    fn mouse(&mut self, window: &Window, frame: &Frame, commands: &mut Vec<Command>) {
        let [left, middle, right] =
            [MouseButton::Left, MouseButton::Middle, MouseButton::Right].map(|b| window.get_mouse_down(b));
        let now = window.get_mouse_pos(MouseMode::Pass).filter(|_| left || middle || right);
        if let (Some(now), Some(before)) = (now, self.mouse)
            && now != before
        {
            let height = Area::of((frame.width, frame.height), window.get_size()).height as f32;
            let (across, down) = ((now.0 - before.0) / height, (now.1 - before.1) / height);
            commands.push(match middle || right || shift(window) {
                true => Command::Pan { right: -across, up: down },
                false => Command::Orbit { right: -TURN * across, up: TURN * down },
            });
        }
        self.mouse = now;
        if let Some((_, wheel)) = window.get_scroll_wheel().filter(|(_, wheel)| *wheel != 0.0) {
            commands.push(Command::Zoom((-wheel.clamp(-5.0, 5.0) * 0.1).exp()));
        }
    }
}

fn shift(window: &Window) -> bool {
    window.is_key_down(Key::LeftShift) || window.is_key_down(Key::RightShift)
}

/// Keys that act as long as they are held.
fn held(window: &Window, tapped: &[Key], step: f32, commands: &mut Vec<Command>) {
    let axis = |more, less| {
        let one = |key| f32::from(u8::from(window.is_key_down(key) || tapped.contains(&key)));
        step * (one(more) - one(less))
    };
    let (right, up) = (axis(Key::Right, Key::Left), axis(Key::Up, Key::Down));
    if right != 0.0 || up != 0.0 {
        commands.push(match shift(window) {
            true => Command::Turn { right, up },
            false => Command::Orbit { right, up },
        });
    }
    let (right, up, forward) = (axis(Key::D, Key::A), axis(Key::E, Key::Q), axis(Key::W, Key::S));
    if right != 0.0 || up != 0.0 || forward != 0.0 {
        commands.push(Command::Fly { right, up, forward });
    }
    let nearer = axis(Key::PageUp, Key::PageDown);
    if nearer != 0.0 {
        commands.push(Command::Zoom((-nearer).exp()));
    }
}

/// Keys that act once.
fn pressed(key: Key, frame: Option<&Frame>, commands: &mut Vec<Command>, wishes: &mut Vec<Wish>) {
    match key {
        Key::R => commands.push(Command::Reset),
        Key::G => commands.push(Command::Next(Dial::Engine)),
        Key::K => commands.push(Command::Next(Dial::Queue)),
        Key::P => commands.push(Command::Next(Dial::Policy)),
        Key::I => commands.push(Command::Next(Dial::Integrator)),
        Key::V => commands.push(Command::Next(Dial::View)),
        Key::Equal | Key::NumPadPlus => commands.push(Command::Expose(0.5)),
        Key::Minus | Key::NumPadMinus => commands.push(Command::Expose(-0.5)),
        Key::Space => commands.push(Command::Pause(!frame.is_some_and(|f| f.status.paused))),
        Key::X => wishes.push(Wish::Picture),
        Key::L => wishes.push(Wish::Light),
        Key::C => wishes.push(Wish::Scene),
        Key::O => wishes.push(Wish::Figures),
        Key::H => wishes.push(Wish::Keys),
        Key::Escape => wishes.push(Wish::End),
        _ => {}
    }
}
