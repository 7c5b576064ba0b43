package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// mostValue is the largest limit of what a probe returns.
const mostValue = 1_000_000_000_000

// maxText is the length of the longest plan, in UTF-16 code units.
const maxText = 262_144

// Fault is a fault of a plan.
type Fault struct {
	// Path is the member, as in waves[2].max_failed.
	Path string
	// Message says what is wanted.
	Message string

	wave, place int // order of the faults: the plan is the wave -1
}

// Faults are all faults of a plan.
type Faults []Fault

// Error implements error.
func (f Faults) Error() string {
	if len(f) == 1 {
		return fmt.Sprintf("invalid plan, 1 fault: %s: %s", f[0].Path, f[0].Message)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "invalid plan, %d faults", len(f))
	for i, fault := range f {
		fmt.Fprintf(&b, "%s%d. %s: %s", map[bool]string{true: ": ", false: "; "}[i == 0], i+1, fault.Path, fault.Message)
	}
	return b.String()
}

// Plan is a valid plan.
type Plan struct {
	root  []member
	waves [][]member
}

// member is the value of a rule, in the stored form.
type member struct {
	rule  *rule
	value string
}

type kind int

const (
	isArray kind = iota
	isInteger
	isBoolean
	isText
	isChoice
	isTargets
	isShare
	isObject
)

// rule describes a member of a plan or of a wave.
type rule struct {
	name string
	kind kind
	// lowest and highest are those of numbers. highest is also the number of characters of a text,
	// and the number of elements of an array.
	lowest, highest int64
	choices         []string
	// fallback is the JSON of the default; empty: the member is required.
	fallback string
	want     string
}

const (
	visible   = "visible characters, without a blank at an end"
	wantShare = `a number of targets, such as 3, or a percentage from 0% to 100% without decimals, such as "1%"`
	wantJob   = "the name of a job of 1 to 128 " + visible

	wantCalendar = "the name of a calendar of 1 to 128 " + visible
)

// planRules, waveRules and needRules have the members in the order of the stored form; needRules
// are those of preflight_options, as jobs_internal.check_mode and targets/mssql know them. The
// texts are those of jobs_internal.check_rollout_plan.
var (
	planRules = []rule{
		{name: "waves", kind: isArray, lowest: 1, highest: 100, want: "an array of 1 to 100 waves"},
		{name: "seed", kind: isInteger, highest: 2147483647, fallback: "0"},
		{name: "deadline_seconds", kind: isInteger, lowest: 60, highest: 31536000, fallback: "null"},
		{name: "on_gate_failure", kind: isChoice, choices: []string{"pause", "abort"}, fallback: `"pause"`, want: "pause or abort"},
		{name: "running_targets", kind: isChoice, choices: []string{"finish", "cancel"}, fallback: `"finish"`, want: "finish or cancel"},
		{name: "strict", kind: isBoolean, fallback: "false"},
		{name: "undo_job", kind: isText, highest: 128, fallback: "null", want: wantJob},
		{name: "preflight", kind: isChoice, choices: []string{"none", "refuse", "warn", "leave_out"}, fallback: `"none"`,
			want: "none, refuse, warn or leave_out"},
		{name: "preflight_options", kind: isObject, highest: 400, fallback: "null", want: `an object, such as {"rights": ["ALTER"]}`},
	}
	needRules = []rule{
		{name: "rights", kind: isArray, lowest: 1, highest: 50, fallback: "null", want: "an array of 1 to 50 permissions"},
		{name: "min_version", kind: isInteger, lowest: 1, highest: 1000, fallback: "null"},
		{name: "min_compatibility", kind: isInteger, lowest: 1, highest: 1000, fallback: "null"},
		{name: "min_log_mb", kind: isInteger, lowest: 1, highest: 1000000000, fallback: "null"},
		{name: "min_data_mb", kind: isInteger, lowest: 1, highest: 1000000000, fallback: "null"},
		{name: "max_transaction_seconds", kind: isInteger, lowest: 1, highest: 31536000, fallback: "null"},
		{name: "warn", kind: isArray, lowest: 1, highest: 9, fallback: "null", want: "an array of 1 to 9 checks"},
		{name: "refuse", kind: isArray, lowest: 1, highest: 9, fallback: "null", want: "an array of 1 to 9 checks"},
	}
	waveRules = []rule{
		{name: "name", kind: isText, highest: 128},
		{name: "targets", kind: isTargets, choices: []string{"rest"}, fallback: "null",
			want: `a number of targets from 1 to 1000000, a percentage from "1%" to "100%" without decimals, or "rest"`},
		{name: "names", kind: isArray, lowest: 1, highest: 1000, fallback: "null",
			want: `an array of 1 to 1000 texts of the form "server/database"`},
		{name: "like", kind: isArray, lowest: 1, highest: 100, fallback: "null",
			want: "an array of 1 to 100 patterns of LIKE, of 1 to 500 characters"},
		{name: "tags", kind: isText, highest: 4000, fallback: "null"},
		{name: "order", kind: isChoice, choices: []string{"resolution", "name", "random", "tag"}, fallback: `"resolution"`,
			want: "resolution, name, random or tag"},
		{name: "order_tag", kind: isText, highest: 128, fallback: "null"},
		{name: "parallelism", kind: isInteger, lowest: 1, highest: 100000, fallback: "null"},
		{name: "pace", kind: isInteger, lowest: 1, highest: 100000, fallback: "null"},
		{name: "bake_seconds", kind: isInteger, highest: 2592000, fallback: "0"},
		{name: "approval", kind: isChoice, choices: []string{"none", "any", "other"}, fallback: `"none"`, want: "none, any, other, true or false"},
		{name: "max_failed", kind: isShare, fallback: `"0"`},
		{name: "max_unknown", kind: isInteger, highest: 1000000, fallback: "0"},
		{name: "max_unreached", kind: isShare, fallback: `"0"`},
		{name: "max_duration_percent", kind: isInteger, lowest: 1, highest: 10000, fallback: "null"},
		{name: "probe_job", kind: isText, highest: 128, fallback: "null", want: wantJob},
		{name: "probe_every_seconds", kind: isInteger, lowest: 10, highest: 86400, fallback: "null"},
		{name: "probe_max_rows", kind: isInteger, highest: 2147483647, fallback: "null"},
		{name: "probe_min_value", kind: isInteger, lowest: -mostValue, highest: mostValue, fallback: "null"},
		{name: "probe_max_value", kind: isInteger, lowest: -mostValue, highest: mostValue, fallback: "null"},
		{name: "probe_min_percent", kind: isInteger, lowest: 1, highest: 10000, fallback: "null"},
		{name: "probe_max_percent", kind: isInteger, lowest: 1, highest: 10000, fallback: "null"},
		{name: "window", kind: isText, highest: 128, fallback: "null", want: wantCalendar},
		{name: "allow_empty", kind: isBoolean, fallback: "false"},
	}
)

// checks are those of a preflight (targets/mssql).
var checks = []string{"state", "writable", "version", "compatibility", "rights", "log_space", "data_space", "blocking", "transactions"}

// section is an object of a plan.
type section struct {
	name  string // as faults call it
	rules []rule
	// prefix begins the paths of its members, and wave is its number; -1: it is none.
	prefix string
	wave   int
	// after is how many members come before the first one, for the order of the faults.
	after int
}

// wanted returns what the rule wants, in words.
func (r *rule) wanted() string {
	switch {
	case r.want != "":
		return r.want
	case r.kind == isInteger:
		return fmt.Sprintf("a whole number from %d to %d", r.lowest, r.highest)
	case r.kind == isBoolean:
		return "true or false"
	case r.kind == isShare:
		return wantShare
	}
	return fmt.Sprintf("a text of 1 to %d %s", r.highest, visible)
}

func find(rules []rule, name string) *rule {
	if i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name }); i >= 0 {
		return &rules[i]
	}
	return nil
}

// Parse reads a plan: the JSON object of jobs.sp_set_job_rollout. The error is Faults if the text
// is a JSON object. Empty text means no plan, which is nil. Whether the jobs and calendars that it
// names exist is for the database to say.
func Parse(text string) (*Plan, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if n := units(text); n > maxText {
		return nil, fmt.Errorf("invalid plan: %d characters, want at most %d", n, maxText)
	}
	root, err := jsontree.Parse(text)
	if err != nil || root.Kind != '{' {
		return nil, errors.Join(errors.New(`invalid plan: want a JSON object, such as {"waves": [{"name": "canary", "targets": 3}]}`), err)
	}
	c := checker{plan: &Plan{}, last: -1}
	c.plan.root = c.object(root, section{name: "the plan", rules: planRules, wave: -1})
	c.preflight(root)
	if waves := root.Get("waves"); waves != nil && waves.Kind == '[' {
		c.last = len(waves.Items) - 1
		for i, w := range waves.Items[:min(len(waves.Items), 100)] {
			c.plan.waves = append(c.plan.waves, c.wave(w, i))
		}
	}
	if len(c.faults) > 0 {
		slices.SortStableFunc(c.faults, func(a, b Fault) int { return cmp.Or(cmp.Compare(a.wave, b.wave), cmp.Compare(a.place, b.place)) })
		return nil, c.faults
	}
	return c.plan, nil
}

type checker struct {
	plan   *Plan
	last   int // number of the last wave, from 0
	names  []string
	faults Faults
}

func (c *checker) fail(wave, place int, path, format string, args ...any) {
	c.faults = append(c.faults, Fault{Path: path, Message: fmt.Sprintf(format, args...), wave: wave, place: place})
}

// object reads the members of the plan or of a wave. The place of a fault is that of the member,
// from 1; a missing member has the place 0.
func (c *checker) object(o *jsontree.Value, s section) []member {
	var known []string
	rules, prefix, wave, after := s.rules, s.prefix, s.wave, s.after+1
	for _, r := range rules {
		known = append(known, r.name)
		if r.fallback == "" && o.Get(r.name) == nil {
			c.fail(wave, 0, prefix+r.name, "missing: want %s", r.wanted())
		}
	}
	for m := range o.Twice() {
		if i := slices.Index(o.Members, m); i >= 0 && !slices.ContainsFunc(o.Members[i+1:], func(n *jsontree.Value) bool { return n.Name == m.Name }) {
			c.fail(wave, i+after, prefix+label(m.Name), "the member occurs more than once")
		}
	}
	values := map[string]string{}
	for i, m := range o.Members {
		path := prefix + label(m.Name)
		r := find(rules, m.Name)
		switch {
		case r == nil && find(waveRules, m.Name) != nil:
			c.fail(wave, i+after, path, "unknown member: it is a member of a wave")
			continue
		case r == nil && find(needRules, m.Name) != nil:
			c.fail(wave, i+after, path, "unknown member: it is a member of preflight_options")
			continue
		case r == nil && find(planRules, m.Name) != nil:
			c.fail(wave, i+after, path, "unknown member: it is a member of the plan, not of %s", s.name)
			continue
		case r == nil:
			c.fail(wave, i+after, path, "unknown member%s", suggest.DidYouMean(m.Name, known))
			continue
		case m.Kind == 'n':
			continue
		}
		value, ok := r.value(m)
		if !ok {
			near := ""
			if m.Kind == '"' {
				near = suggest.DidYouMean(m.Text, r.choices)
			}
			c.fail(wave, i+after, path, "want %s, not %s%s", r.wanted(), shown(m, r), near)
		} else if _, again := values[m.Name]; !again {
			values[m.Name] = value
		}
		if r.kind == isArray && m.Kind == '[' && m.Name != "waves" {
			c.elements(m, path, wave, i+after)
		}
	}
	list := make([]member, 0, len(rules))
	for i := range rules {
		value, ok := values[rules[i].name]
		if !ok {
			value = rules[i].fallback
		}
		list = append(list, member{&rules[i], value})
	}
	return list
}

// preflight checks the preflight of the plan and what it looks for.
func (c *checker) preflight(root *jsontree.Value) {
	i := slices.IndexFunc(root.Members, func(m *jsontree.Value) bool { return m.Name == "preflight_options" && m.Kind == '{' })
	if i < 0 {
		return
	}
	list := c.object(root.Members[i], section{
		name: "preflight_options", rules: needRules, prefix: "preflight_options.", wave: -1, after: len(root.Members),
	})
	stored := Plan{root: list}.write(func(m member) bool { return m.value != m.rule.fallback })
	if units(stored) > 400 {
		c.fail(-1, i+1, "preflight_options", "want at most 400 characters")
	}
	if !slices.ContainsFunc(root.Members, func(m *jsontree.Value) bool {
		return m.Name == "preflight" && m.Kind != 'n' && (m.Kind != '"' || m.Text != "none")
	}) {
		c.fail(-1, i+1, "preflight_options", `want "preflight": "refuse", "warn" or "leave_out" beside it, or no preflight_options`)
	}
	for j := range c.plan.root {
		if c.plan.root[j].rule.name == "preflight_options" {
			c.plan.root[j].value = stored
		}
	}
}

// elements checks those of arrays.
func (c *checker) elements(m *jsontree.Value, path string, wave, place int) {
	seen := map[string]bool{}
	for i, e := range m.Items {
		server, database, divided := strings.Cut(e.Text, "/")
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case e.Kind == '"' && e.Text != "" && seen[e.Text]:
			c.fail(wave, place, at, "the text occurs more than once")
		case m.Name == "rights" && (e.Kind != '"' || e.Text == "" || units(e.Text) > 60 || !isPermission(e.Text)):
			c.fail(wave, place, at, "want a permission on the database, of 1 to 60 letters and blanks, such as ALTER")
		case (m.Name == "warn" || m.Name == "refuse") && (e.Kind != '"' || !slices.Contains(checks, e.Text)):
			c.fail(wave, place, at, "want one of %s", strings.Join(checks, ", "))
		case m.Name == "names" && (e.Kind != '"' || !divided || server == "" || database == "" || units(server) > 256 || units(database) > 128):
			c.fail(wave, place, at, `want a text of the form "server/database", of at most 256 and 128 characters`)
		case m.Name == "like" && (e.Kind != '"' || e.Text == "" || units(e.Text) > 500):
			c.fail(wave, place, at, "want a pattern of 1 to 500 characters")
		}
		if e.Kind == '"' {
			seen[e.Text] = true
		}
	}
}

// wave reads a wave, and checks what does not go together.
func (c *checker) wave(w *jsontree.Value, number int) []member {
	at := fmt.Sprintf("waves[%d]", number)
	if w.Kind != '{' {
		c.fail(number, 0, at, `want an object, such as {"name": "canary", "targets": 3}`)
		return nil
	}
	list := c.object(w, section{name: "a wave", rules: waveRules, prefix: at + ".", wave: number})
	var chosen []string
	for _, name := range []string{"targets", "names", "like", "tags"} {
		if w.Get(name) != nil {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) != 1 {
		c.fail(number, 0, at, "want one of targets, names, like and tags, not %s", cmp.Or(strings.Join(chosen, " and "), "none"))
	}
	valid := map[string]string{}
	for i, m := range w.Members {
		r := find(waveRules, m.Name)
		if r == nil || m.Kind == 'n' {
			continue
		}
		value, ok := r.value(m)
		if !ok {
			continue
		}
		valid[m.Name] = value
		c.pair(w, m, value, number, i+1)
	}
	if valid["order"] == `"tag"` && w.Get("order_tag") == nil {
		i := slices.IndexFunc(w.Members, func(m *jsontree.Value) bool { return m.Name == "order" })
		c.fail(number, i+1, at+".order_tag", "missing: want the name of the tag")
	}
	if name := w.Get("name"); name != nil && name.Kind == '"' {
		c.names = append(c.names, name.Text)
	}
	return list
}

// pair checks a valid member of a wave together with other members.
func (c *checker) pair(w, m *jsontree.Value, value string, number, place int) {
	fault := ""
	switch {
	case m.Name == "targets" && value == `"rest"` && number < c.last:
		fault = "the rest is the last wave, and other waves follow: want this wave last"
	case m.Name == "name" && slices.ContainsFunc(c.names, func(n string) bool { return strings.EqualFold(n, m.Text) }):
		fault = "another wave has this name already: names must differ in more than case"
	case m.Name == "order_tag" && !slices.ContainsFunc(w.Members, func(o *jsontree.Value) bool {
		v, ok := find(waveRules, "order").value(o)
		return o.Name == "order" && (!ok || v == `"tag"`)
	}):
		fault = `want "order": "tag" beside it, or no order_tag`
	case m.Name == "probe_every_seconds" && (w.Get("probe_job") == nil || !bakes(w.Get("bake_seconds"))):
		fault = "want probe_job and bake_seconds beside it, or no probe_every_seconds"
	case limitsProbe(m.Name) && w.Get("probe_job") == nil:
		fault = "want probe_job beside it, or no " + m.Name
	case m.Name == "probe_max_rows" && value == "0" && slices.ContainsFunc(w.Members, func(o *jsontree.Value) bool {
		return limitsProbe(o.Name) && o.Name != m.Name && o.Kind != 'n'
	}):
		fault = "a probe that returns no row has no number: want 1 or more, or no limit of the number beside it"
	case m.Name == "allow_empty" && value == "true" && w.Get("names") == nil && w.Get("like") == nil && w.Get("tags") == nil:
		fault = "want names, like or tags beside it, or no allow_empty"
	case m.Name == "probe_max_value" && above(w.Get("probe_min_value"), value):
		fault = "want at least probe_min_value"
	case m.Name == "probe_max_percent" && above(w.Get("probe_min_percent"), value):
		fault = "want at least probe_min_percent"
	default:
		return
	}
	c.fail(number, place, fmt.Sprintf("waves[%d].%s", number, m.Name), "%s", fault)
}

// bakes reports whether a value of bake_seconds is a time, or a fault of its own.
func bakes(m *jsontree.Value) bool {
	if m == nil {
		return false
	}
	value, ok := find(waveRules, "bake_seconds").value(m)
	return !ok || value != "0"
}

// limitsProbe reports whether a member of a wave limits what its probe returns.
func limitsProbe(name string) bool {
	return slices.Contains([]string{"probe_max_rows", "probe_min_value", "probe_max_value", "probe_min_percent", "probe_max_percent"}, name)
}

// above reports whether a member is valid and larger than value; m may be nil.
func above(m *jsontree.Value, value string) bool {
	if m == nil {
		return false
	}
	text, ok := find(waveRules, m.Name).value(m)
	least, _ := strconv.ParseInt(text, 10, 64)
	most, _ := strconv.ParseInt(value, 10, 64)
	return ok && least > most
}

// value returns a value in the stored form; false if it is none that the rule permits.
func (r *rule) value(m *jsontree.Value) (string, bool) {
	switch r.kind {
	case isInteger:
		n, err := strconv.ParseInt(m.Raw, 10, 64)
		return strconv.FormatInt(n, 10), m.Kind == '0' && err == nil && n >= r.lowest && n <= r.highest
	case isBoolean:
		return m.Raw, m.Kind == 't'
	case isText:
		const blanks = " \u00a0"
		n := int64(units(m.Text))
		return jsontree.Quote(m.Text), m.Kind == '"' && n >= 1 && n <= r.highest && jobs.CheckVisible(m.Text) == nil &&
			strings.Trim(m.Text, blanks) == m.Text
	case isChoice:
		if r.name == "approval" && m.Kind == 't' {
			return map[string]string{"true": `"any"`, "false": `"none"`}[m.Raw], true
		}
		return jsontree.Quote(m.Text), m.Kind == '"' && slices.Contains(r.choices, m.Text)
	case isObject:
		return m.JSON(), m.Kind == '{'
	case isArray:
		return m.JSON(), m.Kind == '[' && int64(len(m.Items)) >= r.lowest && int64(len(m.Items)) <= r.highest
	}
	return r.amount(m)
}

// amount returns a number of targets, or a percentage.
func (r *rule) amount(m *jsontree.Value) (string, bool) {
	text := m.Raw
	if m.Kind == '"' {
		text = m.Text
	}
	if m.Kind == '"' && text == "rest" && r.kind == isTargets {
		return `"rest"`, true
	}
	digits, percent := strings.CutSuffix(text, "%")
	if percent {
		digits = strings.TrimRight(digits, " ")
	}
	n, err := strconv.Atoi(digits)
	if m.Kind != '"' && m.Kind != '0' || units(text) > 20 || err != nil || strings.Trim(digits, "0123456789") != "" || len(digits) > 9 {
		return "", false
	}
	unit, most := "", 1_000_000
	if percent {
		unit, most = "%", 100
	}
	if n == 0 && r.kind == isShare {
		return `"0"`, true
	}
	return fmt.Sprintf(`"%d%s"`, n, unit), n >= 1 && n <= most
}

// shown returns a value as messages show it.
func shown(m *jsontree.Value, r *rule) string {
	switch m.Kind {
	case '"':
		more := ""
		if units(m.Text) > 40 {
			more = " …"
		}
		return jsontree.Quote(clip(m.Text, 40)) + more
	case '{':
		return "an object"
	case '[':
		if r.kind == isArray {
			return fmt.Sprintf("%d elements", len(m.Items))
		}
		return "an array"
	}
	return clip(m.Raw, 40)
}

// label returns the name of a member as paths show it.
func label(name string) string {
	isPlain := name != "" && strings.Trim(name[:1], "0123456789") != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if name = clip(name, 60); isPlain {
		return name
	}
	return jsontree.Quote(name)
}

// isPermission reports whether a text has only letters of ASCII and blanks.
func isPermission(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// clip returns the first n UTF-16 code units.
func clip(s string, n int) string {
	if u := utf16.Encode([]rune(s)); len(u) > n {
		return string(utf16.Decode(u[:n]))
	}
	return s
}

// Stored returns the plan in the form of the control database: every member, with its default.
func (p *Plan) Stored() string { return p.write(func(member) bool { return true }) }

// Short returns the plan as people write it: without the members that have their defaults.
func (p *Plan) Short() string {
	return p.write(func(m member) bool { return m.value != m.rule.fallback })
}

func (p Plan) write(wanted func(member) bool) string {
	var b strings.Builder
	object := func(list []member, value func(member) string) {
		separator := "{"
		for _, m := range list {
			if wanted(m) {
				b.WriteString(separator + jsontree.Quote(m.rule.name) + ":" + value(m))
				separator = ","
			}
		}
		b.WriteString("}")
	}
	own := func(m member) string { return m.value }
	var waves []string
	for _, w := range p.waves {
		object(w, own)
		waves = append(waves, b.String())
		b.Reset()
	}
	object(p.root, func(m member) string {
		if m.rule.name == "waves" {
			return "[" + strings.Join(waves, ",") + "]"
		}
		return m.value
	})
	return b.String()
}

// Jobs yields the paths and the names of the jobs that the plan names.
func (p *Plan) Jobs() iter.Seq2[string, string] { return p.named(wantJob) }

// Calendars yields the paths and the names of the calendars that the plan names.
func (p *Plan) Calendars() iter.Seq2[string, string] { return p.named(wantCalendar) }

// named yields the paths and the values of the members of which a rule wants a name.
func (p *Plan) named(want string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i, w := range slices.Concat([][]member{p.root}, p.waves) {
			for _, m := range w {
				if m.rule.want != want || m.value == "null" {
					continue
				}
				path := m.rule.name
				if i > 0 {
					path = fmt.Sprintf("waves[%d].%s", i-1, path)
				}
				name, _ := jsontree.Parse(m.value) // jsontree.Quote wrote it
				if !yield(path, name.Text) {
					return
				}
			}
		}
	}
}
