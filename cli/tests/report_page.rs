//! `hsa-replay report --format html` in a real headless browser, over its debugging pipe.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fixture::{COMPLETE, Place, answer};
use serde_json::{Value, json};

/// Names under which a browser without a window is installed; `scripts/setup` installs the first.
const BROWSERS: [&str; 4] = ["chromium-headless-shell", "chrome-headless-shell", "chromium", "google-chrome"];

/// A browser with one page open.
struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    events: Vec<Value>,
}

impl Browser {
    fn start(profile: &Path) -> Self {
        let on_path = |name: &&&str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
        };
        let name = BROWSERS.iter().find(on_path).expect("a headless browser: scripts/setup installs one");
        // The debugging pipe is descriptors 3 and 4; ours are the shell's standard input and output.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", name])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let commands = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser = Self { child, commands, answers, session: None, next: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).expect("the browser answers");
        assert_eq!(message.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&message).expect("JSON")
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("serialises");
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.receive();
            if answer["id"] == self.next {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn open(&mut self, page: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page; an exception there is a failure here.
    #[track_caller]
    fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Clicks the middle of an element as a mouse does.
    #[track_caller]
    fn click(&mut self, expression: &str) {
        let place = self.value(&format!(
            "(() => {{ const one = {expression}; one.scrollIntoView({{ block: 'center' }});
                const box = one.getBoundingClientRect(); return [box.x + Math.min(box.width / 2, 40), box.y + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Fails if the page complained, or asked for anything but itself.
    #[track_caller]
    fn is_quiet(&mut self) {
        self.value("1");
        for event in &self.events {
            match event["method"].as_str() {
                Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => {
                    panic!("the page complains: {event}");
                }
                Some("Network.requestWillBeSent") => {
                    let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                    assert!(url.starts_with("file:") || url.starts_with("data:"), "a request: {url}");
                }
                _ => {}
            }
        }
    }
}

impl Browser {
    /// Presses and releases Enter.
    fn enter(&mut self) {
        for kind in ["keyDown", "keyUp"] {
            let key = json!({ "type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r" });
            self.call("Input.dispatchKeyEvent", key);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell has become the browser.
        let _already_gone = self.child.kill();
        let _nothing_more = self.child.wait();
    }
}

fn page(place: &Place, report: &str) -> std::path::PathBuf {
    let html = answer(place.command(["report", "--format", "html", report]));
    place.write("page.html", html)
}

const KERNELS: &str =
    "[...document.querySelectorAll('#kernels tbody tr td:first-child')].map((cell) => cell.textContent)";
const LISTED: &str = "document.querySelectorAll('#dispatches tbody tr').length";

#[test]
fn the_page_sorts_filters_and_opens_a_dispatch_without_complaint() {
    let place = Place::new();
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, COMPLETE);
    browser.open(&page);
    let (saxpy, stamp, progress) =
        ("saxpy(int, float, float const*, float*)", "stamp(unsigned long*)", "report_progress(int*)");
    assert_eq!(browser.value(KERNELS), json!([saxpy, stamp, progress]));
    assert_eq!(browser.value(LISTED), 4);

    // By name, and the other way round; unknown times stay behind known ones.
    browser.click("document.querySelectorAll('#kernels th button')[0]");
    assert_eq!(browser.value(KERNELS), json!([progress, saxpy, stamp]));
    assert_eq!(browser.value("document.querySelector('#kernels th').getAttribute('aria-sort')"), "ascending");
    browser.click("document.querySelectorAll('#kernels th button')[0]");
    assert_eq!(browser.value(KERNELS), json!([stamp, saxpy, progress]));
    browser.click("document.querySelectorAll('#kernels th button')[8]");
    assert_eq!(browser.value(KERNELS), json!([stamp, saxpy, progress]), "by changed bytes");

    // The filter reaches both tables.
    browser.click("document.getElementById('filter')");
    browser.call("Input.insertText", json!({ "text": "STAMP" }));
    assert_eq!(browser.value(KERNELS), json!([stamp]));
    assert_eq!(browser.value(LISTED), 1);
    assert_eq!(browser.value("document.getElementById('matches').textContent"), "1 of 3 kernels");

    // A dispatch: a bar for each pass, arguments, a map, where passes differ.
    assert_eq!(browser.value("document.getElementById('detail').hidden"), true);
    browser.click("document.querySelector('#dispatches tbody button')");
    assert_eq!(browser.value("document.getElementById('detail').hidden"), false);
    let detail = browser.value("document.getElementById('detail').textContent");
    let detail = detail.as_str().expect("text");
    for said in [
        "hostcall",
        "8.12 µs",
        "7.99 µs, other result than pass 0",
        "float const*",
        "host memory of 4.00 KiB",
        "18 bytes in 6 ranges",
    ] {
        assert!(detail.contains(said), "{said}\n{detail}");
    }
    let widths = browser.value(
        "[...document.querySelectorAll('#detail .bar')].map((bar) => bar.getBoundingClientRect().width)",
    );
    let widths: Vec<f64> =
        widths.as_array().expect("bars").iter().map(|width| width.as_f64().expect("a number")).collect();
    assert!(
        widths.len() == 3 && widths[0] > widths[2] && widths[2] > widths[1] && widths[1] > 0.0,
        "{widths:?}"
    );
    assert_eq!(browser.value("document.querySelectorAll('#detail svg .range').length"), 6);
    assert_eq!(browser.value("document.querySelectorAll('#detail svg .difference').length"), 2);
    assert_eq!(browser.value("document.activeElement.id"), "detail");

    // The environment, and both colour schemes.
    let environment = browser.value("document.getElementById('environment').textContent");
    assert!(
        environment.as_str().is_some_and(|text| text.contains("gfx942") && text.contains("1.18")),
        "{environment}"
    );
    let mut colours = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", features);
        colours.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(colours[0], colours[1]);
    browser.is_quiet();
}

#[test]
fn every_control_of_the_page_is_reached_by_keyboard_and_has_a_name() {
    let place = Place::new();
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, COMPLETE);
    browser.open(&page);
    // The browser's own view of what an assistive technology sees.
    browser.call("Accessibility.enable", json!({}));
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let mut controls = 0;
    for node in tree["nodes"].as_array().expect("nodes") {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if ["button", "searchbox", "combobox", "region", "table"].contains(&role) && node["ignored"] == false
        {
            controls += 1;
            if role != "table" {
                assert_ne!(node["name"]["value"], "", "{node}");
            }
        }
    }
    assert!(controls > 15, "{controls}");
    // From the filter on by Tab and Enter to the first kernel, which narrows the dispatches.
    browser.value("document.querySelector('#kernels tbody button').focus()");
    browser.enter();
    assert_eq!(browser.value(LISTED), 2);
    browser.is_quiet();
}

#[test]
fn dispatches_are_sorted_by_keyboard_and_tell_their_queue() {
    let place = Place::new();
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    let other = text.replacen("\"agent\":0,\"queue\":2", "\"agent\":1,\"queue\":7", 1);
    assert_ne!(text, other);
    place.write("queues.jsonl", other);
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, "queues.jsonl");
    browser.open(&page);
    let column = |title: &str| {
        format!(
            "(() => {{ const at = [...document.querySelectorAll('#dispatches th')].findIndex((cell) => cell.textContent === '{title}');
              return [...document.querySelectorAll('#dispatches tbody tr')].map((row) => row.cells[at]?.textContent); }})()"
        )
    };
    let heading = |title: &str| {
        format!(
            "[...document.querySelectorAll('#dispatches th button')].find((button) => button.textContent === '{title}')"
        )
    };
    assert_eq!(browser.value(&column("agent")), json!(["1", "0", "0", "0"]));
    assert_eq!(browser.value(&column("queue")), json!(["7", "2", "2", "2"]));
    browser.value(&format!("{}.focus()", heading("queue")));
    browser.enter();
    assert_eq!(browser.value(&column("queue")), json!(["2", "2", "2", "7"]));
    assert_eq!(browser.value(&column("#")), json!(["1", "2", "3", "0"]), "equal ones stay in their order");
    browser.enter();
    assert_eq!(browser.value(&column("queue")), json!(["7", "2", "2", "2"]));
    let sorted = browser.value("document.activeElement.closest('th').getAttribute('aria-sort')");
    assert_eq!(sorted, "descending");
    // A value that is not known is last in either order.
    for _ in 0..2 {
        browser.click(&heading("median"));
        assert_eq!(browser.value(&column("median"))[3], "-");
    }
    browser.is_quiet();
}

#[test]
fn a_column_of_numbers_has_its_heading_above_them() {
    let place = Place::new();
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, COMPLETE);
    browser.open(&page);
    let apart = browser.value(
        "[...document.querySelectorAll('table')].flatMap((table) => [...table.querySelectorAll('tbody tr:first-child td')].map((cell, at) =>
            [table.querySelectorAll('th')[at], cell])).filter(([head, cell]) => getComputedStyle(head).textAlign !== getComputedStyle(cell).textAlign)
            .map(([head]) => head.textContent)",
    );
    assert_eq!(apart, json!([]));
}

#[test]
fn a_kernel_chosen_by_keyboard_keeps_the_keyboard() {
    let place = Place::new();
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, COMPLETE);
    browser.open(&page);
    browser.value("document.querySelectorAll('#kernels tbody button')[1].focus()");
    browser.enter();
    assert_eq!(browser.value(LISTED), 1);
    assert_eq!(browser.value("document.activeElement.textContent"), "stamp(unsigned long*)");
    browser.enter();
    assert_eq!(browser.value(LISTED), 4, "the choice is taken back where it was made");
    browser.is_quiet();
}

#[test]
fn passes_that_differ_and_are_not_listed_are_said() {
    let place = Place::new();
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    let entry = ",{\"write\":0,\"pass\":2,\"offset\":64,\"bytes\":1}";
    assert!(text.contains(entry));
    place.write("unlisted.jsonl", text.replace(entry, ""));
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, "unlisted.jsonl");
    browser.open(&page);
    browser.click("document.querySelectorAll('#dispatches tbody button')[1]");
    let detail = browser.value("document.getElementById('detail').textContent");
    assert!(
        detail.as_str().is_some_and(|text| text.contains("pass 2 differs too and is not listed")),
        "{detail}"
    );
}

/// A record of the golden report, changed.
fn dispatch(change: impl Fn(&mut Value)) -> String {
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    let mut record: Value = serde_json::from_str(text.lines().nth(2).expect("a dispatch")).expect("JSON");
    change(&mut record);
    format!("{record}\n")
}

#[test]
fn the_page_has_the_numbers_of_the_text() {
    let place = Place::new();
    let numbers: [u64; 16] = [
        0,
        999,
        1005,
        1023,
        1024,
        9_995,
        9_999,
        10_235,
        99_950,
        999_500,
        1_023_000,
        1_048_064,
        1_048_575,
        1_048_576,
        5 << 29,
        7_200_000_000_000,
    ];
    let report: String = (0..)
        .zip(numbers)
        .map(|(id, number)| {
            dispatch(|record| {
                record["id"] = json!(id);
                record["writes"].as_array_mut().expect("writes").truncate(1);
                record["writes"][0]["bytes"] = json!(number);
                record["time_ns"]["median"] = json!(number);
            })
        })
        .collect();
    place.write("numbers.jsonl", report);
    let text = answer(place.command(["report", "-v", "numbers.jsonl"]));
    let in_text: Vec<Value> = text
        .lines()
        .filter_map(|line| {
            let rest = line.split_once(" median ")?.1;
            let (median, rest) = rest.split_once(" max ")?;
            let changed = rest.split_once("changed ")?.1.split(',').next()?;
            Some(json!([median, changed]))
        })
        .collect();
    assert_eq!(in_text.len(), numbers.len(), "{text}");
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, "numbers.jsonl");
    browser.open(&page);
    let on_page = browser.value(
        "[...document.querySelectorAll('#dispatches tbody tr')].map((row) => [8, 9].map((at) => row.cells[at].textContent))",
    );
    assert_eq!(on_page, json!(in_text));
}

#[test]
fn the_page_has_the_named_ranges_of_code_and_what_became_of_each_process() {
    let place = Place::new();
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    let mut lines: Vec<String> =
        text.replacen("\"range\":null", "\"range\":\"train/step 1\"", 2).lines().map(str::to_owned).collect();
    lines.insert(3, lines[2].clone());
    place.write("one.jsonl", lines.join("\n"));
    std::fs::copy(place.path("one.jsonl"), place.path("two.jsonl")).expect("copy");
    let mut browser = Browser::start(&place.path("profile"));
    let html = answer(place.command(["report", "--format", "html", "one.jsonl", "two.jsonl"]));
    browser.open(&place.write("page.html", html));
    let cells = browser.value(
        "[...document.querySelectorAll('#ranges tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))",
    );
    assert_eq!(cells, json!([["train/step 1", "4", "replayed", "2", "32.2 µs"]]));
    assert_eq!(browser.value("document.getElementById('ranges').closest('section').hidden"), false);
    let environment = browser.value("document.getElementById('environment').textContent");
    let environment = environment.as_str().expect("text");
    // The same words as in text.
    let said = answer(place.command(["report", "one.jsonl", "two.jsonl"]));
    for part in [
        "4 candidates: 2 replayed, 1 declined (untracked_memory 1), 1 tainted; 12 filtered out",
        "1 dispatch record more than once in the reports: each counts once",
        "begins with the dispatch of process 4711: the reports hold it twice",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
        assert!(environment.contains(part), "{part}\n{environment}");
    }
    browser.is_quiet();
    // Without a name there is no table.
    browser.open(&page(&place, COMPLETE));
    assert_eq!(browser.value("document.getElementById('ranges').closest('section').hidden"), true);
}

#[test]
fn the_kernel_that_a_process_ended_inside_is_on_the_page_with_what_it_was_given() {
    let place = Place::new();
    let golden = std::fs::read_to_string(COMPLETE).expect("golden");
    place.write("begun.jsonl", golden.lines().take(4).collect::<Vec<_>>().join("\n"));
    let mut browser = Browser::start(&place.path("profile"));
    browser.open(&page(&place, "begun.jsonl"));
    let said = browser.value("document.getElementById('environment').textContent");
    let ended = "stamp(unsigned long*), launch 0, grid 1024 × 1 × 1, workgroup 256 × 1 × 1, argument 0: int = 1023, argument ";
    assert!(said.as_str().is_some_and(|said| said.contains(ended)), "{said}");
    browser.is_quiet();
}

#[test]
fn files_that_could_not_be_read_are_on_the_page() {
    let place = Place::new();
    let output =
        place.command(["report", "--format", "html", COMPLETE, "gone.jsonl"]).output().expect("runs");
    let mut browser = Browser::start(&place.path("profile"));
    browser.open(&place.write("page.html", output.stdout));
    assert_eq!(browser.value("document.getElementById('problems').hidden"), false);
    let said = browser.value("document.getElementById('problems').textContent");
    assert!(said.as_str().is_some_and(|said| said.contains("gone.jsonl: No such file")), "{said}");
    browser.is_quiet();
}

#[test]
fn a_kernel_name_that_is_markup_stays_text() {
    let place = Place::new();
    let name = "</script><b id=hit>&lt;<script>window.hit = 1</script><!-- <img src=x onerror=hit()>";
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    place.write("hostile.jsonl", text.replace("stamp(unsigned long*)", name).replace("float const*", name));
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, "hostile.jsonl");
    browser.open(&page);
    assert!(browser.value(KERNELS).as_array().expect("names").contains(&json!(name)));
    browser.click("document.querySelector('#dispatches tbody button')");
    assert_eq!(browser.value("document.getElementById('hit') === null && window.hit === undefined"), true);
    assert_eq!(browser.value("document.querySelectorAll('b, img').length"), 0);
    browser.is_quiet();
}

#[test]
fn a_page_of_100_000_dispatches_makes_rows_only_when_they_are_wanted() {
    let place = Place::new();
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = lines[4].split_once("\"id\":1,").expect("a number");
    let mut report =
        std::fs::File::create(place.path("large.jsonl")).map(std::io::BufWriter::new).expect("a file");
    for id in 0..100_001 {
        writeln!(report, "{head}\"id\":{id},{tail}").expect("a disk with room");
    }
    drop(report);
    let mut browser = Browser::start(&place.path("profile"));
    let page = page(&place, "large.jsonl");
    browser.open(&page);
    assert_eq!(browser.value(LISTED), 200);
    let note = browser.value("document.getElementById('dispatches-note').textContent");
    assert!(note.as_str().is_some_and(|note| note.contains("first 100000 of 100001")), "{note}");
    browser.click("document.getElementById('more')");
    assert_eq!(browser.value(LISTED), 400);
    browser.click("document.querySelectorAll('#dispatches tbody tr')[399].querySelector('button')");
    let detail = browser.value("document.getElementById('detail').textContent");
    assert!(detail.as_str().is_some_and(|text| text.contains("#399,")), "{detail}");
    browser.is_quiet();
}
