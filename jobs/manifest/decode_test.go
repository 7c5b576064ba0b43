package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

const jobHead = "apiVersion: jobagent/v1\nkind: Job\nname: j\n"

// load loads a text, and returns the faults, each on a line.
func load(text string) (Set, string) {
	set, err := Load(Input{Text: []byte(text), Display: "f"})
	if err == nil {
		return set, ""
	}
	faults, ok := err.(Faults) //nolint:errorlint // Load returns it as it is
	if !ok {
		return set, err.Error()
	}
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return set, strings.Join(lines, "\n")
}

// wrong are documents with what is wrong in them. A form is wrong for the schema, too.
var wrong = []struct {
	name, text, want string
	form             bool
}{
	{"no mapping", "a", `f:1:1: want an object with apiVersion, kind and name, got "a"`, true},
	{"no version", "kind: Job\nname: j", "f:1:1: missing apiVersion: want jobagent/v1", true},
	{"another version", "apiVersion: v2\nkind: Job\nname: j", `f:1:13: apiVersion: unknown version "v2": want jobagent/v1`, true},
	{"no kind", "apiVersion: jobagent/v1\nname: j", "missing kind: want TargetGroup, Calendar, TargetWindow, AlertChannel, Job, Limit or Alert", true},
	{"unknown kind", "apiVersion: jobagent/v1\nkind: Jobs\nname: j", `f:2:7: kind: unknown kind "Jobs"`, true},
	{"systemd", jobHead + "schedules: [{name: s, systemd: Mon..Fri 09:00}]", `systemd is a language that is translated, and files have the translation: write cron5: "0 9 * * 1-5"`, true},
	{"rate", jobHead + "schedules: [{name: s, eventbridge: rate(1 hour), zone: Europe/Berlin}]", `write elastic: {"schedule_interval_type": "Hours", "schedule_interval_count": 1}`, true},
	{"systemd fault", jobHead + "schedules: [{name: s, systemd: Moon 09:00}]", `this text has none: invalid systemd.weekday "Moon"`, true},
	{"unknown field", jobHead + "steos: []", `f:4:1: unknown field "steos"; did you mean "steps"?`, true},
	{"no name", "apiVersion: jobagent/v1\nkind: Job", `missing field "name"`, true},
	{"empty name", "apiVersion: jobagent/v1\nkind: Job\nname: ''", "f:3:7: name: a text is missing", true},
	{"null name", "apiVersion: jobagent/v1\nkind: Job\nname:", "name: a value is missing", true},
	{"long name", "apiVersion: jobagent/v1\nkind: Job\nname: " + strings.Repeat("x", 129), "name: the text has 129 characters: at most 128 are allowed", true},
	{"long emoji", "apiVersion: jobagent/v1\nkind: Job\nname: " + strings.Repeat("😀", 65), "name: the text has 130 characters: at most 128 are allowed", false},
	{"duplicate key", jobHead + "name: k", "f:4:1: ", false},
	{"duplicate job", jobHead + "---\n" + strings.Replace(jobHead, "name: j", "name: J", 1), `f:7:7: name: Job "J" is there twice, also in f:1`, false},
	{"percent", strings.Replace(jobHead, "name: j", "name: 50%", 1), "% is not allowed", false},
	{"dots", strings.Replace(jobHead, "name: j", "name: a/../b", 1), `f:3:7: name: invalid name "a/../b": want no blank at an end`, false},
	{"period of a group", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g.", `f:3:7: name: invalid name "g."`, false},
	{"blank of a step", jobHead + "steps: [{name: 's ', command: SELECT 1, target_group: g}]", `steps[0].name: invalid name "s ": want no blank`, false},
	{"direction of a schedule", jobHead + "schedules: [{name: \"a\\u202eb\", cron5: 0 9 * * *}]", "schedules[0].name: invalid name: U+202E is not visible", false},
	{"system job", strings.Replace(jobHead, "name: j", "name: jobagent$x", 1), "reserved", false},
	{"list for text", jobHead + "description: [a]", "f:4:14: description: want a text, got a list", true},
	{"text for list", jobHead + "steps: a", `steps: want a list, got "a"`, true},
	{"yes for true", jobHead + "schedule: {enabled: yes}", `f:4:21: schedule.enabled: want true or false, got "yes"`, true},
	{"quoted true", jobHead + "schedule: {enabled: 'true'}", "want true or false", true},
	{"octal", jobHead + "schedule: {count: 010}", `schedule.count: want a whole number, got "010"`, false},
	{"text for number", jobHead + "schedule: {count: '1'}", "want a whole number", true},
	{"fraction", jobHead + "schedule: {count: 1.5}", "want a whole number", true},
	{"zero", jobHead + "schedule: {count: 0}", "schedule.count: want 1 to 2147483647, got 0", true},
	{"large", jobHead + "schedule: {count: 99999999999999999999}", "want a whole number", true},
	{"enum", jobHead + "schedule: {interval: Day}", `schedule.interval: want Once, Minutes, Hours, Days, Weeks or Months, got "Day"; did you mean "Days"?`, true},
	{"time", jobHead + "schedule: {start: tomorrow}", `schedule.start: want a time such as 2026-01-31T22:00:00Z, got "tomorrow"`, true},
	{"end before start", jobHead + "schedule: {start: 2026-01-02, end: 2026-01-01}", "schedule.end: the end is before the start", false},
	{"no schedule", jobHead + "schedules: [{name: s}]", "schedules[0]: missing schedule: want one of cron5, ", true},
	{"two schedules", jobHead + "schedules: [{name: s, cron5: '* * * * *', cron6: '* * * * * *'}]", "cron5 and cron6 are both given", true},
	{"cron", jobHead + "schedules: [{name: s, cron5: '61 * * * *'}]", "f:4:30: schedules[0].cron5: ", false},
	{"cron number", jobHead + "schedules: [{name: s, cron5: 5}]", "schedules[0].cron5: ", false},
	{"zone", jobHead + "schedules: [{name: s, cron5: '1 * * * *', zone: Europe/Berlim}]", "schedules[0].cron5: ", false},
	{"catch up", jobHead + "schedules: [{name: s, cron5: '1 * * * *', catch_up: first}]", "schedules[0].catch_up: ", false},
	{"same schedule", jobHead + "schedules: [{name: s, cron5: '1 * * * *'}, {name: S, cron5: '1 * * * *'}]", `the schedule "s" is there twice`, false},
	{"parameters", jobHead + "schedule: {parameters: [1]}", "schedule.parameters: want a mapping or a text, got a list", true},
	{"parameter", jobHead + "schedule: {parameters: {'': 1}}", "schedule.parameters: ", false},
	{"ambiguous parameter", jobHead + "schedule: {parameters: {n: 010}}", "schedule.parameters.n: is 010 a number or a text?", false},
	{"no command", jobHead + "steps: [{name: s, target_group: g}]", "steps[0]: missing command: want one of command, http, ", true},
	{"empty command", jobHead + "steps: [{name: s, target_group: g, command: ' '}]", "steps[0].command: the command is empty", true},
	{"no group", jobHead + "steps: [{name: s, command: PRINT 1}]", "steps[0]: missing target_group", false},
	{"null step", jobHead + "steps: [~]", "steps[0]: a value is missing", true},
	{"action", jobHead + "steps: [{name: s, http: {urls: x}}]", "steps[0].http", false},
	{"action text", jobHead + "steps: [{name: s, http: GET x}]", `steps[0].http: want a mapping, or the text of a JSON object, got "GET x"`, true},
	{"tolerated word", jobHead + "steps: [{name: s, target_group: g, command: a, tolerated_failures: half}]", `steps[0].tolerated_failures: want a number of targets, such as 3, or a percentage from 0% to 100% without decimals, such as 1%, not "half"`, false},
	{"tolerated sign", jobHead + "steps: [{name: s, target_group: g, command: a, tolerated_failures: '-1'}]", "want a number of targets", false},
	{"tolerated percent", jobHead + "steps: [{name: s, target_group: g, command: a, tolerated_failures: 101%}]", "want a number of targets", false},
	{"tolerated none", jobHead + "steps: [{name: s, target_group: g, command: a, tolerated_failures: '%'}]", "want a number of targets", false},
	{"await", jobHead + "steps: [{name: s, target_group: g, command: a, on_unknown_outcome: Await}]", "only actions can await a report", false},
	{"output", jobHead + "steps: [{name: s, target_group: g, command: a, output: {server: s, database: d}}]", `steps[0].output: missing field "table"`, true},
	{"sqlcmd", jobHead + "steps:\n- {name: s, target_group: g, command: \"PRINT 1\\n:setvar db shop\"}",
		"f:5:39: steps[0].command: line 2: :setvar is a command of sqlcmd, which no agent reads: write the text itself", false},
	{"unknown step", jobHead + "steps: [{name: one, target_group: g, command: a, after: [on]}]", `steps[0].after[0]: step "on" does not exist`, false},
	{"circle", jobHead + "steps: [{name: a, target_group: g, command: a, after: [b]}, {name: b, target_group: g, command: b}]", "steps: steps come after each other: a, b", false},
	{"itself", jobHead + "steps: [{name: a, target_group: g, command: a, after: [a]}]", "steps come after each other: a", false},
	{"failed first", jobHead + "steps: [{name: a, target_group: g, command: a, run_when: Failed}]", "this one comes after none", false},
	{"same step", jobHead + "steps: [{name: a, target_group: g, command: a}, {name: A, target_group: g, command: b}]", `the step "A" is there twice`, false},
	{"file of a stream", jobHead + "steps: [{name: a, target_group: g, command: {file: x.sql}}]", "a document of standard input has no files beside it", false},
	{"file typo", jobHead + "steps: [{name: a, target_group: g, command: {fill: x.sql}}]", `unknown field "fill"; did you mean "file"?`, true},
	{"member", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{database: d}]", `members[0].server: a text is missing: want server, tag_filter or target_group`, false},
	{"tags of a server", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{server: s, tag_filter: a = 'b'}]", `member with tag_filter "a = 'b'": want only tag_filter, and exclude or intersect`, false},
	{"tags twice", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{tag_filter: a = 'b'}, {tag_filter: a = 'b'}]", "the member a = 'b' is there twice", false},
	{"twice in a group", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{server: s}, {server: s}]", "the member s is there twice", false},
	{"twice in other case", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{server: s, database: d}, {server: x}, {server: 'tcp:S,1433', database: D}]", "the member tcp:S,1433/D is there twice", false},
	{"server", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{server: s;Encrypt=no}]", `f:4:10: members: member with server "s;Encrypt=no": invalid server name: want host, host\instance or host,port`, false},
	{"line of a database", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{server: s, database: \"a\\nb\"}]", `member "s/a\nb": invalid name: U+000A is not visible`, false},
	{"multiplier", jobHead + "steps: [{name: a, target_group: g, command: a, retry_interval_backoff_multiplier: 1e300}]", "steps[0].retry_interval_backoff_multiplier: ", false},
	{"pool and database", "apiVersion: jobagent/v1\nkind: TargetGroup\nname: g\nmembers: [{server: s, elastic_pool: p, database: d}]", "without database", false},
	{"calendar", "apiVersion: jobagent/v1\nkind: Calendar\nname: c\nspec: {datez: []}", "f:4:7: spec: invalid datez", false},
	{"window without a calendar", "apiVersion: jobagent/v1\nkind: TargetWindow\nname: w\ntag_filter: a = 'b'", "f:1:1: want calendar, blackouts or both", false},
	{"window of nothing", "apiVersion: jobagent/v1\nkind: TargetWindow\nname: w\ncalendar: c\nserver: s", "want server and database, or tag_filter", false},
	{"window of both", "apiVersion: jobagent/v1\nkind: TargetWindow\nname: w\ncalendar: c\nserver: s\ndatabase: d\ntag_filter: a = 'b'", "f:7:13: tag_filter: want either tag_filter, or server and database", false},
	{"server of a window", "apiVersion: jobagent/v1\nkind: TargetWindow\nname: w\ncalendar: c\nserver: s;Encrypt=no\ndatabase: d", "f:5:9: server: invalid server name", false},
	{"database of a window", "apiVersion: jobagent/v1\nkind: TargetWindow\nname: w\ncalendar: c\nserver: s\ndatabase: \"a\\nb\"", "database: invalid name: U+000A is not visible", false},
	{"zone of a window", "apiVersion: jobagent/v1\nkind: TargetWindow\nname: w\ncalendar: c\ntag_filter: a = 'b'\nzone: Europe/Berlim", "f:6:7: zone: ", false},
	{"limit", "apiVersion: jobagent/v1\nkind: Limit\nscope: Server\nserver: s\nmax_concurrent_targets: 1", "only a limit of the scope ElasticPool has a server", false},
	{"alert", "apiVersion: jobagent/v1\nkind: Alert\nname: a\ncondition: RunEnded\nfactor: 2", "f:5:9: factor: the condition RunEnded does not use it", false},
	{"no percent", "apiVersion: jobagent/v1\nkind: Alert\nname: a\ncondition: TargetsFailed", "needs percent_failed", false},
	{"unknown anchor", jobHead + "description: *x", `unknown anchor "x"`, false},
	{"anchor in itself", jobHead + "steps: &s [*s]", `unknown anchor "s"`, false},
	{"tag", jobHead + "description: !!binary aGk=", `unknown tag "!!binary"`, false},
	{"tab", jobHead + "steps:\n\t- a", "f:5:", false},
	{"not UTF-8", "a: \xeb", "at byte 3", false},
	{"NUL", jobHead + `description: "a\0b"`, "NUL", false},
}

func TestWrongDocuments(t *testing.T) {
	schema := compileSchema(t)
	for _, c := range wrong {
		_, got := load(c.text)
		require.Contains(t, got, c.want, c.name)
		if !c.form {
			continue
		}
		docs, err := parseYAML(c.text)
		require.NoError(t, err, c.name)
		require.Error(t, schema.Validate(instance(t, docs[0])), "the schema accepts %s", c.name)
	}
}

// All faults of a file are told at once: those of the form, and those that a check finds in other
// parts of the same document. What is faulty has no second fault.
func TestAllFaultsAreTold(t *testing.T) {
	_, got := load(strings.Replace(jobHead, "name: j", "name: 50%", 1) + `steps:
  - {name: one, target_group: g, comand: SELECT 1}
  - ~
  - {name: two, command: SELECT 1}
schedules:
  - {name: s, cron5: 61 * * * *}
  - {name: t, cron5: 1 * * * *, enabled: yes}
  - ~
schedule: {count: 0, end: 2026-01-01, start: 2026-01-02}
---
apiVersion: jobagent/v1
kind: Alert
condition: NoRun
`)
	var lines []string
	for line := range strings.Lines(got) {
		place, _, _ := strings.Cut(line, " ")
		lines = append(lines, place+" "+strings.Split(strings.TrimPrefix(line, place+" "), ": ")[0])
	}
	require.Equal(t, []string{
		"f:3:7: name", "f:5:5: steps[0]", "f:5:34: steps[0]", "f:6:5: steps[1]", "f:7:5: steps[2]", "f:9:22: schedules[0].cron5", "f:10:42: schedules[1].enabled",
		"f:11:5: schedules[2]", "f:12:19: schedule.count", "f:12:27: schedule.end", "f:14:1: missing field \"name\"",
	}, lines, got)
}

// All faults of a plan are told at their places, and a job comes behind those that its plan names.
func TestPlans(t *testing.T) {
	_, got := load(jobHead + `rollout:
  strict: maybe
  waves:
    - {name: a, targets: 3, maxfailed: 1}
    - name: b
      targets: 1.5%
      probe_job: J
    - {name: A, like: [x%, x%]}
steps: []
`)
	require.Equal(t, `f:5:11: rollout.strict: want true or false, not "maybe"
f:7:40: rollout.waves[0].maxfailed: unknown member; did you mean "max_failed"?
f:9:16: rollout.waves[1].targets: want a number of targets from 1 to 1000000, a percentage from "1%" to "100%" without decimals, or "rest", not "1.5%"
f:11:14: rollout.waves[2].name: another wave has this name already: names must differ in more than case
f:11:28: rollout.waves[2].like[1]: the text occurs more than once`, strings.TrimSpace(got))

	const plan = "apiVersion: jobagent/v1\nkind: Job\nname: %s\nrollout: {undo_job: %s, waves: [{name: a, targets: rest, probe_job: %s}]}\nsteps: []\n---\n"
	set, got := load(fmt.Sprintf(plan+plan+plan+plan, "a", "C", "d", "b", "d", "elsewhere", "c", "b", "b", "d", "a", "a"))
	require.Empty(t, got)
	var order []string
	for _, o := range set.Objects {
		order = append(order, o.Name())
	}
	require.Equal(t, []string{"d", "b", "c", "a"}, order, "a and d name each other")
	require.Len(t, set.Notes, 1)
	require.Contains(t, set.Notes[0].String(), `Job "elsewhere" is not in the files: it must exist in the database`)

	_, got = load(jobHead + "rollout: {undo_job: u, waves: [{name: a, targets: rest, probe_job: J}]}\nsteps: []\n")
	require.Contains(t, got, "rollout.waves[0].probe_job: want another job than the one that is rolled out")
}

// A plan may be a text of its own, in YAML or JSON.
func TestLoadPlan(t *testing.T) {
	plan, err := LoadPlan("p.yaml", []byte("waves:\n  - {name: canary, targets: 3, max_failed: 0%}\n  - name: rest\n    targets: rest\n    approval: true\n"))
	require.NoError(t, err)
	require.Equal(t, "waves:\n  - name: canary\n    targets: \"3\"\n  - name: rest\n    targets: rest\n    approval: any\n", PlanYAML(plan))
	again, err := LoadPlan("standard input", []byte(plan.Stored()))
	require.NoError(t, err)
	require.Equal(t, plan.Stored(), again.Stored())
	for text, want := range map[string]string{
		"waves:\n  - {name: a, targets: 0}\n  - {name: a}\n": "p:2:24: waves[0].targets: want a number of targets",
		"[]":                       "p: want one mapping",
		"waves: []\n---\na: 1\n":   "p: want one mapping",
		"waves: [":                 "p:1:8: ",
		"waves: [{name: 0x1}]":     "p:1:16: waves[0].name: is 0x1 a number or a text?",
		"{\"waves\": []}":          "p:1:11: waves: want an array of 1 to 100 waves, not 0 elements",
		"undo_job: a\nundo_job: b": "p:2:1: ",
	} {
		_, err := LoadPlan("p", []byte(text))
		require.Error(t, err, text)
		require.Contains(t, err.Error(), want, text)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource(schemaID, doc))
	schema, err := c.Compile(schemaID)
	require.NoError(t, err)
	return schema
}

// instance returns a document as a validator of JSON Schema sees it.
func instance(t *testing.T, n *node) any {
	t.Helper()
	var b bytes.Buffer
	d := decoder{}
	require.True(t, d.writeJSON(&b, n, ""), "%v", d.faults)
	v, err := jsonschema.UnmarshalJSON(&b)
	require.NoError(t, err)
	return v
}

// Texts stay as they are written, whatever some version of YAML takes them for.
func TestTextsStay(t *testing.T) {
	for _, s := range []string{"no", "on", "y", "NO", "true", "~x", "010", "0x1F", "1e3", "1_000", "12:30:45", "2026-01-31", ".5", "1.0", "=", "0o17", "+1"} {
		set, faults := load(strings.Replace(jobHead, "name: j", "name: "+s, 1))
		require.Empty(t, faults, s)
		require.Equal(t, s, set.Objects[0].Name())
		written := YAML(set.Objects[0])
		set, faults = load(written)
		require.Empty(t, faults, s)
		require.Equal(t, s, set.Objects[0].Name(), written)
	}
}

// Anchors and merge keys work; documents that repeat themselves without end do not.
func TestAnchors(t *testing.T) {
	set, faults := load(jobHead + `steps:
  - &first
    name: one
    target_group: g
    command: PRINT 1
    retry_attempts: 3
  - <<: *first
    name: two
`)
	require.Empty(t, faults)
	job := set.Objects[0].Value.(*Job)
	require.Equal(t, "two", job.Steps[1].Name)
	require.Equal(t, 3, job.Steps[1].RetryAttempts)

	var b strings.Builder
	b.WriteString(jobHead + "schedule:\n  parameters:\n    a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		prev := string(rune('0'+(i-1)%10)) + strings.Repeat("x", (i-1)/10)
		name := string(rune('0'+i%10)) + strings.Repeat("x", i/10)
		b.WriteString("    a" + name + ": &a" + name + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+", ", 10), ", ") + "]\n")
	}
	started := time.Now()
	_, faults = load(b.String())
	require.Contains(t, faults, "the document is too large")
	require.Less(t, time.Since(started), 10*time.Second)
	_, faults = load("a: " + strings.Repeat("[", 100_000))
	require.Contains(t, faults, "nested too deep")
	_, faults = load("a: " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000))
	require.Contains(t, faults, "nested too deep")
}

// A tree of files is read in order. Hidden files, other kinds of files and schemas are left alone,
// and no script comes from outside of the tree.
func TestTree(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	step := "steps: [{name: s, target_group: g, command: {file: %s}}]"
	tree := fstest.MapFS{
		"b/j.yaml":               file(jobHead + strings.Replace(step, "%s", "../sql/x.sql", 1)),
		"b/k.YML":                file(strings.Replace(jobHead, "name: j", "name: k", 1) + strings.Replace(step, "%s", "utf16.sql", 1)),
		"b/utf16.sql":            file("\xff\xfeP\x00R\x00I\x00N\x00T\x00 \x001\x00"),
		"a.json":                 file(`[{"apiVersion": "jobagent/v1", "kind": "TargetGroup", "name": "g"}]`),
		"sql/x.sql":              file("\xef\xbb\xbfSELECT 1;\r\nGO\r\n"),
		".git/config.yaml":       file("nothing"),
		".hidden.yaml":           file("nothing"),
		"README.md":              file("nothing"),
		"jobagent.schema.json":   file("{}"),
		"empty.yaml":             file("# only a comment\n"),
		"other/deep/calendar.md": file("x"),
	}
	set, err := Load(Input{FS: tree, Path: ".", Display: "repo"})
	require.NoError(t, err)
	require.Empty(t, set.Notes)
	require.Len(t, set.Objects, 3)
	require.Equal(t, "SELECT 1;\r\nGO\r\n", set.Objects[1].Value.(*Job).Steps[0].Command.Text)
	require.Equal(t, "PRINT 1", set.Objects[2].Value.(*Job).Steps[0].Command.Text)
	require.Equal(t, Place{"repo/b/k.YML", 1, 1}, set.Objects[2].Source)

	for path, want := range map[string]string{
		"../../x.sql": "it leaves the tree", "/etc/passwd": "want a path relative to the document", `..\x.sql`: "with /", "none.sql": "does not exist",
		"../sql": "not a regular file", "empty.sql": "is empty", "latin1.sql": "at byte 2", "C:x.sql": "relative",
	} {
		bad := fstest.MapFS{"b/j.yaml": file(jobHead + strings.Replace(step, "%s", "'"+path+"'", 1)), "sql/x.sql": file("x"),
			"b/empty.sql": file(" \n"), "b/latin1.sql": file("zo\xebx")}
		_, err := Load(Input{FS: bad, Path: ".", Display: "repo"})
		require.ErrorContains(t, err, want, path)
		require.ErrorContains(t, err, "repo/b/j.yaml:4:", path)
	}
}

// The next instants are those of the schedules, and references to other objects are noted.
func TestNext(t *testing.T) {
	set, faults := load(jobHead + `schedules:
  - name: s
    cron5: {cron: "0 2 * * *", blackouts: {calendars: [c]}}
    zone: Europe/Berlin
  - {name: off, cron5: "0 2 * * *", enabled: false}
steps: [{name: a, target_group: g, command: a}]
`)
	require.Empty(t, faults)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	next := Next(set, now, 2)
	require.Len(t, next, 1)
	require.Equal(t, []time.Time{now.Add(13 * time.Hour), now.Add(37 * time.Hour)}, next[0].Due)
	require.Len(t, set.Notes, 2)
	require.Contains(t, set.Notes[1].String(), `TargetGroup "g" is not in the files`)
}

// What the schema accepts of the published examples is what the decoder accepts.
func TestSchemaAcceptsExport(t *testing.T) {
	schema := compileSchema(t)
	for _, kind := range Kinds() {
		require.Contains(t, string(Schema()), `"const": "`+string(kind)+`"`)
	}
	set, faults := load(jobHead + "steps: [{name: a, target_group: g, command: a, after: []}]\nschedule: {interval: Days, start: 2026-01-01 10:00}\n" +
		"schedules: [{name: s, cron5: '0 2 * * *'}, {name: t, rrule: 'FREQ=DAILY'}]\n---\napiVersion: jobagent/v1\nkind: Limit\nscope: Agent\nmax_concurrent_targets: 5\n")
	require.Empty(t, faults)
	world, err := Load(Input{FS: os.DirFS("../../cmd/jobagent/internal/cli/testdata/world"), Path: "."}) // every field
	require.NoError(t, err)
	for _, o := range append(set.Objects, world.Objects...) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONDocument(o)))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(v), "%s", JSONDocument(o))
		require.True(t, json.Valid(JSONDocument(o)))
	}
}
