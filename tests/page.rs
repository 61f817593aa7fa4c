//! The live page in a real browser, headless.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/serving.rs"]
#[allow(dead_code)] // The browser is the client here.
mod serving;
#[path = "common/webdriver.rs"]
mod webdriver;

use serving::Serving;
use std::process::Command;
use webdriver::Browser;

const CORNELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/cornell.toml");
const SMALL: [&str; 7] = [CORNELL, "--width", "96", "--height", "54", "--spp", "6"];
const PIXELS: &str = "const c = document.getElementById('picture');
    return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data);";

/// Waits for a finished picture that has obeyed so many commands.
fn wait(browser: &Browser, commands: u32) {
    browser.wait(&format!("return status && status.finished && status.commands === {commands}"));
}

/// What the canvas shows: red, green, blue of each pixel.
fn pixels(browser: &Browser) -> Vec<u8> {
    let values = browser.run(PIXELS);
    let values = values.as_array().expect("a list").iter().map(|v| v.as_u64().expect("a byte") as u8);
    values.collect::<Vec<_>>().chunks(4).flat_map(|p| [p[0], p[1], p[2]]).collect()
}

fn opened(size: (u32, u32)) -> (Serving, Browser) {
    let (serving, browser) = (Serving::start(&SMALL), Browser::start(size.0, size.1));
    browser.open(&serving.url);
    wait(&browser, 0);
    (serving, browser)
}

#[test]
fn one_sees_the_picture_and_steers_it() {
    let (_serving, browser) = opened((900, 700));
    let scene = common::resized("scenes/cornell.toml", 96, 54, 6);
    let film = common::render(&common::cpu(2), &scene, &Default::default());
    let wanted =
        image::load_from_memory(&film.to_png8().expect("small")).expect("a PNG").into_rgb8().into_raw();
    assert!(pixels(&browser) == wanted, "the picture that `rayq render` makes");

    // A drag turns the view; the session may be given it in several steps.
    browser.drag((450, 150), (520, 170));
    browser.wait("return status.finished && status.commands > 0 && !move");
    let turned = pixels(&browser);
    assert!(turned != wanted, "the drag shows");

    // Another queue, by the menu: the same picture.
    let steps = browser.run("return status.commands").as_u64().expect("a number") as u32;
    browser.run(
        "const menu = document.getElementById('queue'); menu.value = 'sfq';
         menu.dispatchEvent(new Event('change'));",
    );
    wait(&browser, steps + 1);
    assert_eq!(browser.run("return status.queue"), "sfq");
    assert!(pixels(&browser) == turned, "queues do not show");

    // And by keys: engine, queue, policy; then the view of before.
    browser.keys("gkp");
    wait(&browser, steps + 4);
    assert_eq!(browser.run("return status.engine"), "compaction");
    assert!(pixels(&browser) == turned, "engines do not show");
    browser.keys("r");
    wait(&browser, steps + 5);
    assert!(pixels(&browser) == wanted, "back home");
    browser.keys("v");
    wait(&browser, steps + 6);
    assert!(pixels(&browser) != wanted, "rays in false colours");
}

#[test]
fn warnings_show_once_a_load() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let scene = folder.path().join("dots.json");
    let text = r#"{ "image": { "width": 32, "height": 18, "spp": 1, "max_depth": 2 },
        "camera": { "from": [0, 0, 3], "at": [0, 0, 0] }, "background": { "constant": [1, 1, 1] },
        "objects": [ { "type": "mesh", "file": "dots.obj" } ] }"#;
    std::fs::write(&scene, text).expect("writable");
    let model = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\np 1\n";
    std::fs::write(folder.path().join("dots.obj"), model).expect("writable");
    let serving = Serving::start(&[scene.to_str().expect("plain letters")]);
    let browser = Browser::start(900, 700);
    browser.open(&serving.url);
    browser.wait("return status && !document.getElementById('warnings').hidden");
    let words = browser.run("return document.getElementById('warned').textContent");
    assert!(words.as_str().is_some_and(|w| w.contains("line 5: points and lines are left out")), "{words}");
    browser.run("document.getElementById('heard').click()");
    browser.keys("v");
    wait(&browser, 1);
    assert_eq!(browser.run("return document.getElementById('warnings').hidden"), true, "it was heard");
    // The model is read again when it changes.
    std::fs::write(folder.path().join("dots.obj"), format!("{model}# again\n")).expect("writable");
    browser.wait("return status.loads === 2 && !document.getElementById('warnings').hidden");
}

#[test]
fn the_keyboard_is_enough() {
    let (_serving, browser) = opened((900, 700));
    let home = pixels(&browser);
    // W3C codes: arrow left, page down, tab.
    for (keys, steps) in [("\u{e012}", 1), ("\u{e00f}", 2), ("w", 3), ("+", 4), (" ", 5)] {
        browser.keys(keys);
        browser.wait(&format!("return status.commands === {steps}"));
    }
    assert_eq!(browser.run("return status.paused"), true);
    assert_eq!(browser.run("return document.getElementById('pause').textContent"), "Go on");
    browser.keys(" ");
    browser.wait("return status.finished");
    assert!(pixels(&browser) != home);
    browser.keys("h");
    browser.wait("return document.getElementById('keys').open");
    browser.keys("g");
    browser.keys("\u{e00c}");
    browser.wait("return !document.getElementById('keys').open");
    assert_eq!(browser.run("return status.engine"), "tile-queue", "keys rest while they are explained");
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..15 {
        browser.keys("\u{e004}");
        reached.insert(browser.run("return document.activeElement.id").as_str().unwrap_or("").to_owned());
    }
    for control in ["picture", "engine", "queue", "view", "pause", "png", "exr", "scene", "help"] {
        assert!(reached.contains(control), "Tab does not reach {control}: {reached:?}");
    }
}

#[test]
fn a_phone_shows_all_of_it() {
    let (_serving, browser) = opened((500, 800));
    let wide = browser.run("return document.documentElement.scrollWidth - innerWidth").as_i64();
    assert!(wide.expect("a number") <= 0, "nothing lies beyond the right edge");
    let least = browser.run(
        "return Math.min(...[...document.querySelectorAll('form > *, pre')]
            .map(e => parseFloat(getComputedStyle(e).fontSize)))",
    );
    assert!(least.as_f64().expect("a number") >= 12.0, "{least}");
    let height = browser.run("return document.getElementById('pause').clientHeight");
    assert!(height.as_f64().expect("a number") >= 32.0, "a thumb hits it");
}

#[test]
fn strangers_see_nothing() {
    let (serving, browser) = (Serving::start(&SMALL), Browser::start(500, 500));
    let wrong = serving.url.split('?').next().expect("an address").to_owned() + "?token=0123456789abcdef";
    browser.open(&wrong);
    let text = browser.run("return document.body.innerText");
    assert!(text.as_str().expect("text").contains("token"), "{text}");
    // Another site's page that knows the token, a page of another server say: its Origin gives it away.
    let other = Serving::start(&SMALL);
    browser.open(&other.url);
    wait(&browser, 0);
    browser.open("data:text/html,<title>elsewhere</title>");
    browser.run(&format!(
        "window.said = []; const s = new WebSocket('ws://{}/live?{}');
         s.onopen = () => said.push('open'); s.onclose = () => said.push('close');",
        serving.host(),
        serving.query()
    ));
    assert_eq!(browser.wait("return said.join()"), "close");
}

#[test]
fn a_lost_connection_comes_back() {
    let (serving, browser) = opened((900, 700));
    browser.run("window.before = socket; socket.close();");
    browser.wait(
        "return socket !== before && role.driving && document.getElementById('message').textContent === ''",
    );
    browser.keys("\u{e012}");
    wait(&browser, 1);

    // The server is gone: the page says so, and that a new one has another address.
    let id = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-KILL", &id]).status().expect("there is kill").success());
    browser.wait("return document.getElementById('message').textContent.includes('Connection lost')");
    let listen = serving.host().to_owned();
    drop(serving);
    let again = Serving::start_at(&listen, &SMALL);
    browser.wait("return document.getElementById('message').textContent.includes('open the URL')");
    assert_eq!(browser.run("return role.driving"), false, "the old token opens nothing");
    browser.open(&again.url);
    wait(&browser, 0);
}
