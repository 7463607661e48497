//! Programs for the conformance test: a function for each loop, in C that is C++ as well.

use std::fmt::Write as _;

/// A type of loop variable: its name, its ends, and how it is printed.
struct Type {
    name: &'static str,
    least: &'static str,
    most: &'static str,
    is_signed: bool,
}

const TYPES: [Type; 4] = [
    Type { name: "int", least: "INT_MIN", most: "INT_MAX", is_signed: true },
    Type { name: "unsigned", least: "0u", most: "UINT_MAX", is_signed: false },
    Type { name: "long long", least: "LLONG_MIN", most: "LLONG_MAX", is_signed: true },
    Type { name: "unsigned long long", least: "0ull", most: "ULLONG_MAX", is_signed: false },
];

/// First value, comparison, end, direction and step. LEAST and MOST are the type's; those that go
/// below zero are for signed types alone.
struct Range {
    from: &'static str,
    compare: &'static str,
    to: &'static str,
    sign: char,
    step: &'static str,
    is_signed: bool,
}

const fn range(
    from: &'static str,
    compare: &'static str,
    to: &'static str,
    sign: char,
    step: &'static str,
    is_signed: bool,
) -> Range {
    Range { from, compare, to, sign, step, is_signed }
}

const RANGES: [Range; 22] = [
    range("5", "<", "5", '+', "1", false),
    range("0", "<", "1", '+', "1", false),
    range("0", "<", "7", '+', "1", false),
    range("0", "<", "1000", '+', "1", false),
    range("3", "<=", "1000", '+', "7", false),
    range("0", "<", "1000", '+', "999", false),
    range("0", "!=", "1000", '+', "1", false),
    range("1000", ">", "0", '-', "1", false),
    range("1000", ">=", "13", '-', "7", false),
    range("1000", ">", "999", '-', "2", false),
    range("-5", "<", "5", '+', "1", true),
    range("500", ">", "-500", '-', "3", true),
    range("-1000", "<=", "-1", '+', "2", true),
    range("MOST - 100", "<", "MOST", '+', "1", false),
    range("MOST - 1000", "<", "MOST - 10", '+', "7", false),
    range("MOST - 1", ">", "MOST - 500", '-', "1", false),
    range("LEAST", "<", "LEAST + 100", '+', "1", false),
    range("LEAST + 1000", ">", "LEAST", '-', "1", false),
    range("LEAST + 1000", ">", "LEAST + 9", '-', "9", false),
    range("LEAST", "<", "MOST - MOST / 500", '+', "(MOST / 500)", false),
    range("MOST", ">", "LEAST + MOST / 300", '-', "(MOST / 300)", false),
    range("0", "<", "99999", '+', "1", false),
];

const SCHEDULES: [&str; 12] = [
    "",
    "schedule(static)",
    "schedule(static, 1)",
    "schedule(static, 3)",
    "schedule(static, 5000)",
    "schedule(dynamic)",
    "schedule(dynamic, 3)",
    "schedule(guided)",
    "schedule(guided, 4)",
    "schedule(auto)",
    "schedule(runtime)",
    "schedule(monotonic: static)",
];

/// Every `nth` of all loops.
pub fn program(nth: usize) -> String {
    let mut text = include_str!("prelude.h").to_owned();
    let mut ids = Vec::new();
    let mut number = 0;
    for of in &TYPES {
        for range in &RANGES {
            if range.is_signed && !of.is_signed {
                continue;
            }
            for schedule in SCHEDULES {
                number += 1;
                if number % nth == 0 && !never_ends(of, range, schedule) {
                    ids.push(number);
                    case(&mut text, number, of, range, schedule);
                }
            }
        }
    }
    text.push_str("int main(void) {\n");
    for id in ids {
        let _ = writeln!(text, "    for (int n = 0; n < 3; n++) case_{id}();");
    }
    text.push_str("    return 0;\n}\n");
    text
}

/// Whether GNU's runtime never ends with this loop: a dynamic or guided one over more than half of
/// the values of a signed word.
fn never_ends(of: &Type, range: &Range, schedule: &str) -> bool {
    let is_shared_out = schedule.contains("dynamic") || schedule.contains("guided");
    of.name == "long long" && range.step.contains("MOST") && is_shared_out
}

/// A combined construct; then one region with two loops of the same iterations, of which the first
/// does not wait. What a thread wrote in the first it must find in the second where the schedule is
/// static.
fn case(text: &mut String, id: usize, of: &Type, range: &Range, schedule: &str) {
    let ends = |text: &str| text.replace("MOST", of.most).replace("LEAST", of.least);
    let (from, to, step) = (ends(range.from), ends(range.to), ends(range.step));
    let (name, compare, sign) = (of.name, range.compare, range.sign);
    let head = format!("for ({name} i = {from}; i {compare} {to}; i {sign}= {step})");
    let position = match sign {
        '+' => format!("((u64)i - (u64)({from})) / (u64){step}"),
        _ => format!("((u64)({from}) - (u64)i) / (u64){step}"),
    };
    let is_static = schedule.is_empty() || schedule.contains("static");
    let strangers = if is_static { "strangers" } else { "0" };
    let _ = write!(
        text,
        r#"
static void case_{id}(void) {{
    u64 count = 0, sum = 0, strangers = 0;
    {name} last = 1;
    {head} {{ count++; sum += hash((u64)i); last = i; }}
    struct result serial = {{count, sum, (u64)last}};
    count = 0; sum = 0; last = 1;
#pragma omp parallel for {schedule} reduction(+ : count, sum) lastprivate(last)
    {head} {{ count++; sum += hash((u64)i); last = i; }}
    struct result is = {{count, sum, count ? (u64)last : serial.last}};
    tell({id}, "{schedule}", is, serial, 0);
    count = 0; sum = 0;
#pragma omp parallel reduction(+ : count, sum, strangers)
    {{
#pragma omp for {schedule} nowait
        {head} {{ owner[{position}] = omp_get_thread_num(); count++; }}
#pragma omp for {schedule}
        {head} {{ strangers += owner[{position}] != omp_get_thread_num(); sum += hash((u64)i); }}
    }}
    struct result chain = {{count, sum, serial.last}};
    tell({id}, "{schedule}", chain, serial, {strangers});
}}
"#
    );
}
