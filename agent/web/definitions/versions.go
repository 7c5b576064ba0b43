package definitions

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/jobagent/jobagent/agent/web/code"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/jobs/manifest"
)

// versionData is the data of the page of a version.
type versionData struct {
	Job      catalog.JobDetail
	Version  int
	Current  bool
	Steps    []stepView
	DiffHref string // to the version before; empty: there is none
	Compare  string // to the current version; empty: this is it
}

// jobVersion returns a job, and the version that a path names. The version of the current job is
// its own one.
func jobVersion(ctx context.Context, r *page.Request, text string) (catalog.JobDetail, int, error) {
	job, err := catalog.On(r.Store).JobDetail(ctx, r.Value("job"))
	if err != nil {
		return job, 0, err
	}
	version := number(text, -1)
	if version < 0 || version > job.Version {
		return job, 0, fmt.Errorf("version %q: %w", text, dberror.ErrJobNotFound)
	}
	return job, version, nil
}

// showVersion shows the steps of a version. With the parameter step, it sends the command of a step
// as a file.
func showVersion(ctx context.Context, r *page.Request) (*page.View, error) {
	job, version, err := jobVersion(ctx, r, r.Value("version"))
	if err != nil {
		return nil, err
	}
	steps, err := catalog.On(r.Store).JobSteps(ctx, job.Name, &version)
	if err != nil {
		return nil, err
	}
	if id := number(r.Query("step"), 0); id > 0 {
		for _, s := range steps {
			if s.StepID == id {
				return &page.View{Title: job.Name, Write: func(w http.ResponseWriter) { sendScript(w, s) }}, nil
			}
		}
		return nil, fmt.Errorf("step %d: %w", id, dberror.ErrStepNotFound)
	}
	data := versionData{Job: job, Version: version, Current: version == job.Version, Steps: stepViews(r, steps, "")}
	if version > 0 {
		data.DiffHref = page.With(r.Path("jobs", job.Name, "diff"), "from", strconv.Itoa(version-1), "to", strconv.Itoa(version))
	}
	if !data.Current {
		data.Compare = page.With(r.Path("jobs", job.Name, "diff"), "from", strconv.Itoa(version), "to", strconv.Itoa(job.Version))
	}
	return &page.View{
		Title: fmt.Sprintf("Version %d of %s", version, job.Name), Nav: "jobs", Template: "version", Data: data, Styles: []string{"code/code.css"},
		Crumbs: []page.Link{{Text: "Jobs", Href: r.Path("jobs")}, {Text: job.Name, Href: r.Path("jobs", job.Name)}},
		Equivalents: append(page.CLI("step", "show", job.Name, "--job-version", strconv.Itoa(version)), page.Query(`DECLARE @job NVARCHAR(128) = N'?', @version INT = N'?';
SELECT step_id, step_name, command
FROM jobs.jobstep_versions
WHERE job_name = @job AND job_version = @version
ORDER BY step_id;`, job.Name, version)),
	}, nil
}

// sendScript sends the command of a step as a file.
func sendScript(w http.ResponseWriter, s catalog.JobStep) {
	kind := ".sql"
	if language(s) == code.JSON {
		kind = ".json"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="step-%d-version-%d%s"`, s.StepID, s.JobVersion, kind))
	_, _ = w.Write([]byte(s.Command)) // the client may have gone
}

// diffData is the data of the page that compares two versions.
type diffData struct {
	Job                   catalog.JobDetail
	From, To              int
	Split, All            bool
	Steps                 []stepDiff
	Unchanged             int
	Versions              []catalog.JobVersion
	Swap, Unified, Beside string
	// AsFile is the path of the differences as files have them, and File says that they are shown:
	// their lines, or a note.
	AsFile           string
	File             bool
	Lines            []page.DiffLine
	Note             string
	Toggle           string
	FromHref, ToHref string
}

// stepDiff is what changed in a step.
type stepDiff struct {
	ID     int
	Name   string
	Before string // the name before, if it changed
	// Change is Added, Removed, Changed or Unchanged.
	Change  string
	Options []optionDiff
	Lines   []diffLine
	Pairs   []diffPair
	Added   int
	Removed int
	// Note says what the lines do not show.
	Note string
}

// optionDiff is an option that changed.
type optionDiff struct{ Name, Before, After string }

// diffLine is a line of a unified diff. Numbers are 0 on the side that does not have the line. A
// line whose Gap is true stands for lines that are left out.
type diffLine struct {
	Before, After int
	Class, Sign   string
	HTML          template.HTML
	Gap           bool
}

// diffPair is a row of a diff side by side.
type diffPair struct {
	Left, Right diffLine
	Gap         bool
}

// maxDiff is the largest script, in bytes, whose lines are compared.
const maxDiff = 512 << 10

// showDiff compares two versions step by step.
func showDiff(ctx context.Context, r *page.Request) (*page.View, error) {
	job, to, err := jobVersion(ctx, r, cmp.Or(r.Query("to"), "999999999"))
	if r.Query("to") == "" {
		job, err = catalog.On(r.Store).JobDetail(ctx, r.Value("job"))
		to = job.Version
	}
	if err != nil {
		return nil, err
	}
	_, from, err := jobVersion(ctx, r, cmp.Or(r.Query("from"), strconv.Itoa(max(0, to-1))))
	if err != nil {
		return nil, err
	}
	before, err := catalog.On(r.Store).JobSteps(ctx, job.Name, &from)
	if err != nil {
		return nil, err
	}
	after, err := catalog.On(r.Store).JobSteps(ctx, job.Name, &to)
	if err != nil {
		return nil, err
	}
	data := diffData{Job: job, From: from, To: to, Split: r.Query("view") == "split", All: r.Query("all") != ""}
	if data.Versions, err = catalog.On(r.Store).LatestJobVersions(ctx, job.Name, controldb.Page[int]{Top: 200}); err != nil {
		return nil, err
	}
	for _, d := range diffSteps(before, after, data.Split) {
		if d.Change == "Unchanged" {
			data.Unchanged++
			if !data.All {
				continue
			}
		}
		data.Steps = append(data.Steps, d)
	}
	view, all := r.Query("view"), r.Query("all")
	if data.File = view == "file"; data.File {
		if data.Lines, data.Note, err = diffFiles(job.Name, before, after); err != nil {
			return nil, err
		}
	}
	self := r.Path("jobs", job.Name, "diff")
	a, b := strconv.Itoa(from), strconv.Itoa(to)
	data.Swap = page.With(self, "from", b, "to", a, "view", view, "all", all)
	data.Unified, data.Beside = page.With(self, "from", a, "to", b, "all", all), page.With(self, "from", a, "to", b, "all", all, "view", "split")
	data.AsFile = page.With(self, "from", a, "to", b, "view", "file")
	data.Toggle = page.With(self, "from", a, "to", b, "view", view, "all", map[bool]string{false: "1"}[data.All])
	data.FromHref, data.ToHref = r.Path("jobs", job.Name, "versions", a), r.Path("jobs", job.Name, "versions", b)
	return &page.View{
		Title: fmt.Sprintf("%s: version %d to %d", job.Name, from, to), Nav: "jobs", Template: "diff", Data: data, Styles: []string{"code/code.css"},
		Crumbs: []page.Link{{Text: "Jobs", Href: r.Path("jobs")}, {Text: job.Name, Href: r.Path("jobs", job.Name)}},
		Equivalents: []page.Equivalent{page.Query(`DECLARE @job NVARCHAR(128) = N'?', @from INT = N'?', @to INT = N'?';
SELECT job_version, step_id, step_name, command
FROM jobs.jobstep_versions
WHERE job_name = @job AND job_version IN (@from, @to)
ORDER BY step_id, job_version;`, job.Name, from, to)},
	}, nil
}

// diffFiles compares the steps of two versions as files have them. Only steps have versions.
func diffFiles(job string, before, after []catalog.JobStep) ([]page.DiffLine, string, error) {
	texts := [2]string{}
	for i, list := range [][]catalog.JobStep{before, after} {
		o := &manifest.Job{Name: job}
		for _, s := range list {
			step, err := definition.NewStep(s)
			if err != nil {
				return nil, "", err
			}
			o.Steps = append(o.Steps, step)
		}
		object := manifest.Object{Kind: manifest.KindJob, Value: o}
		manifest.Normalize([]manifest.Object{object})
		texts[i] = manifest.Text(object)
	}
	return page.Difference(texts[0], texts[1])
}

// diffSteps compares the steps of two versions. Steps of the same name are the same step; of the
// others, those with the same number.
func diffSteps(before, after []catalog.JobStep, split bool) []stepDiff {
	partner := map[int]int{} // of after: the index in before
	taken := map[int]bool{}
	match := func(same func(a, b catalog.JobStep) bool) {
		for i, b := range after {
			if _, found := partner[i]; found {
				continue
			}
			for j, a := range before {
				if !taken[j] && same(a, b) {
					partner[i], taken[j] = j, true
					break
				}
			}
		}
	}
	match(func(a, b catalog.JobStep) bool { return a.StepName == b.StepName })
	match(func(a, b catalog.JobStep) bool { return a.StepID == b.StepID })
	var list []stepDiff
	for i, b := range after {
		j, found := partner[i]
		if !found {
			list = append(list, newStepDiff(catalog.JobStep{}, b, "Added", split))
			continue
		}
		list = append(list, newStepDiff(before[j], b, "Changed", split))
	}
	for j, a := range before {
		if !taken[j] {
			list = append(list, newStepDiff(a, catalog.JobStep{}, "Removed", split))
		}
	}
	return list
}

// newStepDiff compares a step of two versions.
func newStepDiff(a, b catalog.JobStep, change string, split bool) stepDiff {
	d := stepDiff{ID: b.StepID, Name: b.StepName, Change: change}
	if change == "Removed" {
		d.ID, d.Name = a.StepID, a.StepName
	}
	if change == "Changed" {
		if a.StepName != b.StepName {
			d.Before = a.StepName
		}
		if a.StepID != b.StepID {
			d.Options = append(d.Options, optionDiff{Name: "Number", Before: strconv.Itoa(a.StepID), After: strconv.Itoa(b.StepID)})
		}
	}
	d.Options = append(d.Options, diffOptions(a, b, change)...)
	d.diffScripts(a, b, split)
	if change == "Changed" && d.Before == "" && len(d.Options) == 0 && d.Lines == nil && d.Note == "" {
		d.Change = "Unchanged"
	}
	return d
}

// diffOptions compares the options of a step.
func diffOptions(a, b catalog.JobStep, change string) []optionDiff {
	values := func(s catalog.JobStep, absent string) (map[string]string, []string) {
		m, names := map[string]string{}, []string{}
		if change == absent {
			return m, names
		}
		for _, o := range stepOptions(s) {
			m[o.Name] = o.Value
			names = append(names, o.Name)
		}
		return m, names
	}
	before, names := values(a, "Added")
	after, more := values(b, "Removed")
	var list []optionDiff
	seen := map[string]bool{}
	for _, name := range append(more, names...) {
		if !seen[name] && before[name] != after[name] {
			list = append(list, optionDiff{Name: name, Before: before[name], After: after[name]})
		}
		seen[name] = true
	}
	return list
}

// diffScripts compares the commands of a step.
func (d *stepDiff) diffScripts(a, b catalog.JobStep, split bool) {
	if a.Command == b.Command {
		return
	}
	clean := func(s catalog.JobStep) string {
		return strings.ReplaceAll(strings.ReplaceAll(pretty(s), "\r\n", "\n"), "\r", "\n")
	}
	before, after := clean(a), clean(b)
	if before == after || strings.TrimSuffix(before, "\n") == strings.TrimSuffix(after, "\n") {
		d.Note = "The scripts differ in the ends of lines only, or in the blanks of JSON."
		return
	}
	if len(before)+len(after) > 2*maxDiff {
		d.Note = fmt.Sprintf("The scripts differ. They are too large to be compared here: %d and %d bytes.", len(a.Command), len(b.Command))
		return
	}
	// A last line without a line feed is a line like all others.
	closed := func(text string) string {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text
	}
	before, after = closed(before), closed(after)
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		d.Note = "The scripts differ and cannot be compared: " + err.Error()
		return
	}
	left, right := code.Lines(language(a), before), code.Lines(language(b), after)
	next := 1
	for _, h := range unified.Hunks {
		if h.FromLine > next {
			d.Lines = append(d.Lines, diffLine{Gap: true})
		}
		d.addHunk(h, left, right)
		next = h.FromLine
		for _, l := range h.Lines {
			if l.Kind != udiff.Insert {
				next++
			}
		}
		if len(d.Lines) > clipLines {
			d.Note = fmt.Sprintf("Only the first %d lines of the differences are shown.", clipLines)
			d.Lines = d.Lines[:clipLines]
			break
		}
	}
	if split {
		d.Pairs, d.Lines = pairs(d.Lines), []diffLine{}
	}
}

// addHunk adds the lines of a hunk with the colours of the whole scripts.
func (d *stepDiff) addHunk(h *udiff.Hunk, left, right []template.HTML) {
	before, after := h.FromLine, h.ToLine
	at := func(lines []template.HTML, n int) template.HTML {
		if n < 1 || n > len(lines) {
			return ""
		}
		return lines[n-1]
	}
	for _, l := range h.Lines {
		switch l.Kind {
		case udiff.Delete:
			d.Lines = append(d.Lines, diffLine{Before: before, Class: "removed", Sign: "−", HTML: at(left, before)})
			d.Removed++
			before++
		case udiff.Insert:
			d.Lines = append(d.Lines, diffLine{After: after, Class: "added", Sign: "+", HTML: at(right, after)})
			d.Added++
			after++
		default:
			d.Lines = append(d.Lines, diffLine{Before: before, After: after, HTML: at(right, after)})
			before++
			after++
		}
	}
}

// pairs arranges the lines of a diff side by side: removed lines beside the added ones that follow.
func pairs(lines []diffLine) []diffPair {
	var list []diffPair
	for i := 0; i < len(lines); {
		if lines[i].Class == "" {
			list = append(list, diffPair{Left: lines[i], Right: lines[i], Gap: lines[i].Gap})
			i++
			continue
		}
		var removed, added []diffLine
		for ; i < len(lines) && lines[i].Class != ""; i++ {
			if lines[i].Class == "removed" {
				removed = append(removed, lines[i])
			} else {
				added = append(added, lines[i])
			}
		}
		for k := range max(len(removed), len(added)) {
			var p diffPair
			if k < len(removed) {
				p.Left = removed[k]
			}
			if k < len(added) {
				p.Right = added[k]
			}
			list = append(list, p)
		}
	}
	return list
}
