package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/rollout"
	"github.com/jobagent/jobagent/jobs/textfile"
)

// Input is a file, a directory tree, or a text.
type Input struct {
	// FS is the tree; scripts are looked for in it, and nowhere else. It is nil for a text.
	FS fs.FS
	// Path is the file or the directory in FS, "." for all of it.
	Path string
	// Display is put before the names of files in messages, such as the directory that was given.
	Display string
	// Text is the text of an input without FS.
	Text []byte
}

// Set is a set of objects, in the order in which they are applied, by name within a kind.
type Set struct {
	Objects []Object
	// Notes are remarks that are no faults, such as references to objects outside of the files.
	Notes []Fault
	// References are the first mentions of objects outside of the files.
	References []Reference
}

// Reference is a mention of an object.
type Reference struct {
	Place
	// Path is the place in the document, such as steps[2].target_group.
	Path string
	Kind Kind
	// Name is that of the object, as it is mentioned.
	Name string
}

// Key returns the key of the object that is mentioned.
func (r Reference) Key() Key { return Key{r.Kind, strings.ToLower(r.Name)} }

// Load reads, decodes and checks files. The error is [Faults], or that of reading.
func Load(inputs ...Input) (Set, error) {
	l := loader{seen: map[string]bool{}}
	for _, in := range inputs {
		if err := l.input(in); err != nil {
			return Set{}, err
		}
	}
	set := Set{Objects: l.objects}
	for _, o := range set.Objects {
		if len(o.faulty) == 0 {
			normalize(o)
		}
	}
	faults := append(l.faults, check(&set)...)
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b Fault) int {
			return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
		})
		return Set{}, faults
	}
	set.Sort()
	return set, nil
}

// Sort brings the objects into their order.
func (s *Set) Sort() {
	slices.SortStableFunc(s.Objects, func(a, b Object) int {
		return cmp.Or(slices.Index(Kinds(), a.Kind)-slices.Index(Kinds(), b.Kind), strings.Compare(a.Key().Name, b.Key().Name))
	})
	s.sortByReferences()
}

// sortByReferences moves each job behind the jobs that its plan of roll-outs and its triggers name,
// and each target group behind the groups that are its members: they must exist before. Jobs whose
// plans name each other keep their order. A job whose triggers change is as it should be before
// those that start after it, so that no cycle is made on the way.
func (s *Set) sortByReferences() {
	places := map[Key]int{}
	for i, o := range s.Objects {
		places[o.Key()] = i
	}
	sorted, done := make([]Object, 0, len(s.Objects)), make([]bool, len(s.Objects))
	var add func(i int)
	add = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		var keys []Key
		switch v := s.Objects[i].Value.(type) {
		case *Job:
			keys = append(v.Upstreams(), v.Planned()...)
		case *TargetGroup:
			keys = v.Groups()
		}
		for _, key := range keys {
			if k, ok := places[key]; ok {
				add(k)
			}
		}
		sorted = append(sorted, s.Objects[i])
	}
	for i := range s.Objects {
		add(i)
	}
	s.Objects = sorted
}

// Groups returns the target groups that are members of the group.
func (g *TargetGroup) Groups() (list []Key) {
	for _, m := range g.Members {
		if m.TargetGroup != "" {
			list = append(list, Key{KindTargetGroup, strings.ToLower(m.TargetGroup)})
		}
	}
	return list
}

// Upstreams returns the jobs that the job's triggers name.
func (j *Job) Upstreams() (list []Key) {
	for _, t := range j.Triggers {
		if t == nil { // a fault of the document
			continue
		}
		for _, name := range t.After {
			list = append(list, Key{KindJob, strings.ToLower(name)})
		}
	}
	return list
}

// Planned returns the jobs that the job's plan of roll-outs names.
func (j *Job) Planned() (list []Key) {
	plan, err := rollout.Parse(string(j.Rollout))
	if err != nil || plan == nil {
		return nil
	}
	for _, name := range plan.Jobs() {
		list = append(list, Key{KindJob, strings.ToLower(name)})
	}
	return list
}

// loader reads the files of several inputs.
type loader struct {
	objects []Object
	faults  Faults
	seen    map[string]bool // files that were read, by display name
}

func (l *loader) input(in Input) error {
	if in.FS == nil {
		l.file(in, in.Display, in.Text)
		return nil
	}
	return fs.WalkDir(in.FS, in.Path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		explicit := name == in.Path
		hidden := strings.HasPrefix(path.Base(name), ".") && name != "."
		switch {
		case entry.IsDir() && hidden && !explicit:
			return fs.SkipDir
		case entry.IsDir(), !explicit && (hidden || !isDocument(name)):
			return nil
		}
		display := in.Display
		if !explicit || in.Path == "." {
			display = path.Join(in.Display, name)
		}
		if l.seen[display] {
			return nil
		}
		l.seen[display] = true
		text, fault, err := readFile(in.FS, name)
		if err != nil {
			return err
		}
		if fault != "" {
			l.fault(display, fault)
			return nil
		}
		in := in
		in.Path = name
		l.file(in, display, text)
		return nil
	})
}

// isDocument reports whether a file of a directory is read. A JSON Schema beside the documents is
// not one.
func isDocument(name string) bool {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".yaml", ".yml":
		return true
	case ".json":
		return !strings.HasSuffix(strings.ToLower(name), ".schema.json")
	}
	return false
}

// readFile reads a file of bounded size. A fault is a sentence about the file.
func readFile(tree fs.FS, name string) (text []byte, fault string, err error) {
	info, err := fs.Stat(tree, name)
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "this is not a regular file", nil
	}
	if info.Size() > MaxFile {
		return nil, fmt.Sprintf("the file has %d bytes: at most %d are allowed", info.Size(), MaxFile), nil
	}
	text, err = fs.ReadFile(tree, name)
	return text, "", err
}

func (l *loader) fault(file, message string) {
	l.faults = append(l.faults, Fault{Place: Place{File: file}, Message: message})
}

// file decodes the documents of a file.
func (l *loader) file(in Input, display string, raw []byte) {
	docs, fault := parseText(display, raw, in.FS == nil)
	if fault != nil {
		l.faults = append(l.faults, *fault)
		return
	}
	var all []*node
	for _, doc := range docs {
		if doc.kind == kindSeq {
			all = append(all, doc.values...)
		} else {
			all = append(all, doc)
		}
	}
	if len(all) > maxDocuments {
		l.fault(display, fmt.Sprintf("the file has %d documents: at most %d are allowed", len(all), maxDocuments))
		return
	}
	before := len(l.faults)
	for _, doc := range all {
		if len(l.faults)-before > maxFaults {
			l.fault(display, fmt.Sprintf("there are more faults: only the first %d are shown", len(l.faults)-before))
			return
		}
		d := decoder{file: display}
		o := d.document(doc)
		if job, ok := o.Value.(*Job); ok {
			d.scripts(in, o, job)
		}
		l.faults = append(l.faults, d.faults...)
		if o.Value != nil {
			for _, f := range d.faults {
				o.faulty = append(o.faulty, f.Path)
			}
			l.objects = append(l.objects, o)
		}
	}
}

// parseText reads the documents of a text. A text that is no file may be JSON whatever its name is.
func parseText(display string, raw []byte, isStream bool) ([]*node, *Fault) {
	failed := func(message string) *Fault { return &Fault{Place: Place{File: display}, Message: message} }
	if len(raw) > MaxFile {
		return nil, failed(fmt.Sprintf("the text has %d bytes: at most %d are allowed", len(raw), MaxFile))
	}
	decoded, err := textfile.Decode(raw)
	if err != nil {
		return nil, failed(err.Error())
	}
	text := string(decoded)
	parse := parseYAML
	if first := strings.TrimLeft(text, " \t\r\n"); strings.EqualFold(path.Ext(display), ".json") ||
		isStream && (strings.HasPrefix(first, "[") || strings.HasPrefix(first, "{")) {
		parse = parseJSON
	}
	docs, err := parse(text)
	var at *positionError
	switch {
	case errors.As(err, &at):
		return nil, &Fault{Place: Place{display, at.line, at.col}, Message: at.message}
	case err != nil:
		return nil, failed(err.Error())
	}
	return docs, nil
}

// scripts reads the scripts of a job's steps that stand in files of their own.
func (d *decoder) scripts(in Input, o Object, job *Job) {
	for i, s := range job.Steps {
		if s == nil || s.Command.File == "" {
			continue
		}
		at := fmt.Sprintf("steps[%d].command.file", i)
		n := o.node.get("steps").values[i].get("command").get("file")
		text, fault := readScript(in, s.Command.File)
		if fault != "" {
			d.fail(n, at, "%s", fault)
			continue
		}
		s.Command.Text = text
	}
}

// readScript reads a script: its path is relative to the document, and stays in the tree.
func readScript(in Input, file string) (text, fault string) {
	if in.FS == nil {
		return "", "a document of standard input has no files beside it: write the script itself"
	}
	if strings.Contains(file, `\`) || path.IsAbs(file) || strings.Contains(file, ":") {
		return "", fmt.Sprintf("invalid path %q: want a path relative to the document, with /", file)
	}
	name := path.Join(path.Dir(in.Path), file)
	if !fs.ValidPath(name) {
		return "", fmt.Sprintf("invalid path %q: it leaves the tree of the files", file)
	}
	raw, fault, err := readFile(in.FS, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Sprintf("the file %q does not exist", file)
	case err != nil:
		return "", fmt.Sprintf("cannot read the file %q: %v", file, err)
	case fault != "":
		return "", fmt.Sprintf("%q: %s", file, fault)
	}
	decoded, err := textfile.Decode(raw)
	if err != nil {
		return "", fmt.Sprintf("%q: %v", file, err)
	}
	if strings.TrimSpace(string(decoded)) == "" {
		return "", fmt.Sprintf("the file %q is empty", file)
	}
	return string(decoded), ""
}

// normalize brings an object into the form that the control database gives back.
func normalize(o Object) {
	switch v := o.Value.(type) {
	case *TargetGroup:
		slices.SortStableFunc(v.Members, compareMembers)
	case *TargetWindow:
		v.TagFilter = strings.TrimLeft(v.TagFilter, " ")
	case *Job:
		slices.SortStableFunc(v.Schedules, func(a, b *Schedule) int {
			return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
		})
		for _, s := range v.Schedules {
			if kind, _ := s.Definition(); s.Overlap == model.DefaultOverlap(kind) {
				s.Overlap = ""
			}
			s.Parameters = emptyObject(s.Parameters)
		}
		slices.SortStableFunc(v.Triggers, func(a, b *Trigger) int {
			return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
		})
		for _, t := range v.Triggers {
			slices.SortStableFunc(t.After, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
			t.After = slices.CompactFunc(t.After, strings.EqualFold)
		}
		for _, s := range v.Steps {
			s.RetryIntervalMultiplier = single(s.RetryIntervalMultiplier)
			if stored, ok := tolerance(s.ToleratedFailures); ok {
				s.ToleratedFailures = stored
			}
			if s.Output != nil {
				s.Output.SubscriptionID = strings.ToLower(s.Output.SubscriptionID)
			}
			if s.Command.Text != "" {
				s.Command.File = ""
			}
		}
		if plan, err := rollout.Parse(string(v.Rollout)); err == nil && plan != nil {
			v.Rollout = JSON(plan.Short())
		}
		if i := v.Schedule; i != nil {
			i.Parameters = emptyObject(i.Parameters)
			if reflect.DeepEqual(*i, Interval{Interval: "Once", Count: 1}) {
				v.Schedule = nil
			}
		}
	case *Alert:
		normalizeAlert(v)
	}
}

// Normalize brings objects that were not read from files into the form of those that were.
func Normalize(list []Object) {
	for _, o := range list {
		normalize(o)
	}
}

// tolerance returns a number of failures, or a percentage, as the control database stores it
// (jobs_internal.check_tolerated_failures); false if the text is neither.
func tolerance(text string) (stored string, ok bool) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || strings.Trim(digits, "0123456789") != "" || n > 1_000_000 || percent && n > 100:
		return "", false
	case n == 0:
		return "0", true
	case percent:
		return strconv.Itoa(n) + "%", true
	}
	return strconv.Itoa(n), true
}

// emptyObject returns nothing for parameters without a member.
func emptyObject(j JSON) JSON {
	if strings.Join(strings.Fields(string(j)), "") == "{}" {
		return ""
	}
	return j
}

// Settings returns the settings of the schedule, with the overlap policy that it has in any case.
func (s *Schedule) Settings() model.ScheduleSettings {
	kind, _ := s.Definition()
	settings := s.ScheduleSettings
	settings.Overlap = cmp.Or(s.Overlap, model.DefaultOverlap(kind))
	return settings
}

// single rounds a number to those that the database can hold, a REAL.
func single(f float64) float64 {
	var out float64
	_, _ = fmt.Sscan(fmt.Sprint(float32(f)), &out)
	return out
}

func compareMembers(a, b Member) int {
	flag := func(m Member) int {
		switch {
		case m.Exclude:
			return 2
		case m.Intersect:
			return 1
		}
		return 0
	}
	return cmp.Or(flag(a)-flag(b), strings.Compare(a.Server, b.Server), cmp.Compare(b.Target().Kind, a.Target().Kind),
		strings.Compare(a.Database, b.Database), strings.Compare(a.ElasticPool, b.ElasticPool), strings.Compare(a.ShardMap, b.ShardMap),
		strings.Compare(a.Credential, b.Credential), strings.Compare(a.TagFilter, b.TagFilter),
		strings.Compare(a.TargetGroup, b.TargetGroup), strings.Compare(a.Query, b.Query))
}

// lifecycles are those of an alert, in their order.
var lifecycles = []string{"Succeeded", "SucceededWithSkipped", "Failed", "TimedOut", "Canceled"}

// normalizeAlert sets the defaults that depend on the condition.
func normalizeAlert(a *Alert) {
	if a.Condition == "RunEnded" && len(a.Lifecycles) == 0 {
		a.Lifecycles = []string{"Failed", "TimedOut"}
	}
	slices.SortFunc(a.Lifecycles, func(x, y string) int { return slices.Index(lifecycles, x) - slices.Index(lifecycles, y) })
	slices.Sort(a.Channels)
	if n, ok := model.AlertCondition(a.Condition).DefaultSeconds(); ok && a.Seconds == nil {
		a.Seconds = &n
	}
	if a.Condition == "RunTooLong" {
		if a.Factor == nil {
			a.Factor = new(float64)
			*a.Factor = 2
		}
		if a.Runs == nil {
			a.Runs = new(int)
			*a.Runs = 20
		}
	}
}
