// Package apply has the commands for jobs as code: apply, diff, export and validate. Files define
// objects of the control database; package manifest describes them.
package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommands returns `jobagent apply`, diff, export and validate.
func NewCommands(a *connect.App) []*cobra.Command {
	return []*cobra.Command{
		a.Prints(output.AppliedFiles{}, newApplyCommand(a)),
		a.Prints(output.ComparedFiles{}, newDiffCommand(a)),
		// The documents, as of JSON files for apply.
		a.PrintsWith("--dir", output.ExportedFiles{}, a.Prints([]json.RawMessage{}, newExportCommand(a))),
		a.Prints(output.ValidatedFiles{}, newValidateCommand(a)),
	}
}

// files are the flags that name files.
type files struct {
	names []string
}

func (f *files) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.names, "file", "f", nil,
		"`FILE` or directory with definitions, - for standard input; may be repeated")
	_ = cmd.MarkFlagRequired("file") // the flag exists
}

// load reads, decodes and checks the files. All faults are printed, each on a line, if there are
// several.
func (f *files) load(s *connect.Settings) (manifest.Set, error) {
	inputs, done, err := f.inputs(s.Stdin)
	defer done()
	if err != nil {
		return manifest.Set{}, err
	}
	set, err := manifest.Load(inputs...)
	if err != nil {
		var faults manifest.Faults
		if !errors.As(err, &faults) {
			return manifest.Set{}, exit.Usagef("read the definitions: %w", err)
		}
		return manifest.Set{}, err
	}
	if len(set.Objects) == 0 {
		return manifest.Set{}, exit.Usagef("no definitions in %s: want files .yaml, .yml or .json", strings.Join(f.names, ", "))
	}
	return set, nil
}

// inputs opens the files. done closes them.
func (f *files) inputs(stdin io.Reader) (inputs []manifest.Input, done func(), err error) {
	var roots []*os.Root
	done = func() {
		for _, r := range roots {
			_ = r.Close() // it was only read
		}
	}
	for _, name := range f.names {
		if name == "" {
			return nil, done, exit.Usagef("invalid --file: the name is empty")
		}
		if name == "-" {
			text, err := io.ReadAll(io.LimitReader(stdin, manifest.MaxFile+1))
			if err != nil {
				return nil, done, exit.Usagef("read standard input: %w", err)
			}
			inputs = append(inputs, manifest.Input{Text: text, Display: "standard input"})
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, done, exit.Usage(err)
		}
		// A root does not follow links that leave it.
		dir, in := name, manifest.Input{Path: ".", Display: filepath.ToSlash(filepath.Clean(name))}
		if !info.IsDir() {
			dir, in.Path = filepath.Dir(name), filepath.Base(name)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, done, exit.Usage(err)
		}
		roots = append(roots, root)
		in.FS = root.FS()
		inputs = append(inputs, in)
	}
	return inputs, done, nil
}

// change is a difference between files and the control database.
type change struct {
	action string // create, change, delete or none
	want   manifest.Object
	have   *definition.Stored
	fields []string
}

// object returns the object that the change is about.
func (c change) object() manifest.Object {
	if c.want.Value == nil {
		return c.have.Object
	}
	return c.want
}

func (c change) shape() output.ObjectChange {
	o := c.object()
	return output.ObjectChange{Kind: string(o.Kind), Name: o.Name(), File: o.Source.File, Line: o.Source.Line,
		Action: c.action, Fields: c.fields}
}

// The actions.
const (
	actionNone   = "none"
	actionCreate = "create"
	actionChange = "change"
	actionDelete = "delete"
)

// readState reads the definitions of the control database: all, or those that a set needs.
func readState(ctx context.Context, store *controldb.Store, set *manifest.Set) (*definition.State, error) {
	var names []string
	if set != nil {
		names = []string{}
		for _, o := range set.Objects {
			if o.Kind == manifest.KindJob {
				names = append(names, o.Name())
			}
		}
		for _, r := range set.References {
			if r.Kind == manifest.KindJob {
				names = append(names, r.Name)
			}
		}
	}
	return definition.Read(ctx, store, names)
}

// checkReferences returns [manifest.Faults] if the files mention objects that neither they nor the
// control database have. System jobs are not among the definitions and not looked for.
func checkReferences(set manifest.Set, s *definition.State) error {
	var faults manifest.Faults
	for _, r := range set.References {
		if s.Get(r.Key()) != nil || r.Kind == manifest.KindJob && strings.HasPrefix(r.Key().Name, "jobagent$") {
			continue
		}
		var names []string
		for _, o := range append(s.Own(), set.Objects...) {
			if o.Kind == r.Kind {
				names = append(names, o.Name())
			}
		}
		faults = append(faults, manifest.Fault{Place: r.Place, Path: r.Path, Message: fmt.Sprintf(
			"%s %q is neither in the files nor in the database%s", r.Kind, r.Name, suggest.DidYouMean(r.Name, names))})
	}
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// plan compares a set with the control database. The changes are in the order in which they are
// made; with prune, deletions come last.
func plan(set manifest.Set, s *definition.State, prune bool) ([]change, error) {
	var list []change
	wanted, kinds := map[manifest.Key]bool{}, map[manifest.Kind]bool{}
	for _, o := range set.Objects {
		wanted[o.Key()], kinds[o.Kind] = true, true
		have := s.Get(o.Key())
		c := change{action: actionCreate, want: o, have: have}
		if have != nil {
			if have.Origin != "" {
				return nil, exit.Usagef("%s:%d: the job %q is defined through the %s API, and is only changed there", o.Source.File, o.Source.Line, o.Name(), have.Origin)
			}
			c.want = withoutPastRun(o, have)
			c.action, c.fields = actionNone, manifest.Compare(have.Object, c.want)
			if len(c.fields) > 0 {
				c.action = actionChange
			}
			if err := refuseType(o, have); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	if !prune {
		return list, nil
	}
	own := s.Own()
	slices.Reverse(own) // an object goes before those that it refers to
	for _, o := range own {
		if kinds[o.Kind] && !wanted[o.Key()] {
			list = append(list, change{action: actionDelete, have: s.Get(o.Key())})
		}
	}
	return list, nil
}

// withoutPastRun returns a job of the files as it is once its own schedule has started its only
// run: disabled. To enable that schedule again would start the run again, at each apply. Another
// start time is another run.
func withoutPastRun(o manifest.Object, have *definition.Stored) manifest.Object {
	want, ok := o.Value.(*manifest.Job)
	if !ok || !have.Started || want.Schedule == nil || !want.Schedule.Enabled || want.Schedule.Interval != "Once" {
		return o
	}
	old := definition.OwnSchedule(have.Value.(*manifest.Job))
	if old.Enabled || old.Interval != "Once" || !old.Start.Equal(want.Schedule.Start) {
		return o
	}
	job, schedule := *want, *want.Schedule
	schedule.Enabled = false
	job.Schedule = &schedule
	o.Value = &job
	manifest.Normalize([]manifest.Object{o})
	return o
}

// refuseType refuses another type of an alert channel, which cannot be changed.
func refuseType(o manifest.Object, have *definition.Stored) error {
	want, ok := o.Value.(*manifest.AlertChannel)
	if !ok {
		return nil
	}
	if old := have.Value.(*manifest.AlertChannel); old.Type != want.Type {
		return exit.Usagef("%s:%d: the alert channel %q has the type %s, which cannot be changed to %s: choose another name", o.Source.File,
			o.Source.Line, want.Name, old.Type, want.Type)
	}
	return nil
}

func newApplyCommand(a *connect.App) *cobra.Command {
	var f files
	var opts applyOptions
	cmd := &cobra.Command{
		Use: "apply", Short: "Make jobs, target groups and other objects as files define them", Args: cobra.NoArgs,
		Long: `Make jobs, target groups, calendars, limits, alerts and alert channels as YAML or JSON files define them.

All files are checked first, and whether the objects exist that they mention. Then each object that
differs is changed, a job with its steps and schedules in one transaction. An object that is as
defined is left alone: a second apply changes nothing. Objects that the files do not have are left
alone, too, unless --prune is given. A run that is active goes on with the version of the job with
which it began.

A job or a target group that someone else has changed since it was compared is left as it is (exit
code 6). Objects of the other kinds have no revision: the last writer wins.`,
		Example: "  jobagent apply -f jobs --dry-run\n  jobagent apply -f jobs\n  jobagent export | jobagent apply -f -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runApply(cmd, a, &f, opts)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "only print what would be done")
	cmd.Flags().BoolVar(&opts.keepGoing, "keep-going", false, "go on with the next object when one fails")
	cmd.Flags().BoolVar(&opts.prune, "prune", false, "delete the objects that the files do not have, of the kinds that the files have; lists them first, and asks")
	command.AddYes(cmd)
	return cmd
}

// applyOptions are the flags of apply.
type applyOptions struct {
	dryRun, keepGoing, prune bool
}

func runApply(cmd *cobra.Command, a *connect.App, f *files, opts applyOptions) error {
	ctx := cmd.Context()
	set, err := f.load(&a.Settings)
	if err != nil {
		return command.FaultError(&a.Printer, err)
	}
	return a.WithStore(ctx, func(store *controldb.Store) error {
		only := &set
		if opts.prune {
			only = nil
		}
		state, err := readState(ctx, store, only)
		if err != nil {
			return err
		}
		if opts.dryRun || !opts.keepGoing {
			if err := checkReferences(set, state); err != nil {
				return command.FaultError(&a.Printer, err)
			}
		}
		changes, err := plan(set, state, opts.prune)
		if err != nil {
			return err
		}
		if err := confirmDeletions(cmd, &a.Printer, store, changes, opts); err != nil {
			return err
		}
		e := executor{cmd: cmd, app: a, store: store, opts: opts, result: output.AppliedFiles{DryRun: opts.dryRun, Changes: []output.ObjectChange{}}}
		failure := e.run(ctx, changes)
		if err := a.Emit(e.result, e.summary); err != nil {
			return err
		}
		return failure
	})
}

// confirmDeletions lists what --prune deletes, and asks.
func confirmDeletions(cmd *cobra.Command, p *output.Printer, store *controldb.Store, changes []change, opts applyOptions) error {
	var deleted []string
	jobs := map[string]bool{}
	for _, c := range changes {
		if c.action == actionDelete {
			o := c.object()
			deleted = append(deleted, fmt.Sprintf("%s %s", o.Kind, o.Name()))
			jobs[strings.ToLower(o.Name())] = jobs[strings.ToLower(o.Name())] || o.Kind == manifest.KindJob
		}
	}
	if len(deleted) == 0 || opts.dryRun {
		return nil
	}
	active, err := catalog.On(store).ActiveJobs(cmd.Context())
	if err != nil {
		return err
	}
	for _, name := range active {
		if jobs[strings.ToLower(name)] {
			return exit.With(exit.CodeConflict, fmt.Errorf("the job %q has an active run, and is not deleted: wait until it has ended, or stop it with jobagent job stop %q; nothing was changed", name, name))
		}
	}
	fmt.Fprintf(p.Stderr, "--prune deletes %s that the files do not have, jobs with their history:\n", wording.Count(len(deleted), "object"))
	for _, d := range deleted {
		fmt.Fprintf(p.Stderr, "  %s\n", terminal.Clean(d))
	}
	return command.Confirm(cmd, func() (string, int, error) {
		// Where nobody can be asked, --yes is needed for a single object, too.
		return "This deletes " + wording.Count(len(deleted), "object"), command.Many + len(deleted), nil
	})
}

// executor makes changes, one after the other.
type executor struct {
	cmd     *cobra.Command
	app     *connect.App
	store   *controldb.Store
	opts    applyOptions
	result  output.AppliedFiles
	pending map[manifest.Key]string // names of jobs that are not created yet
	// reserved are the jobs that were created before their turn, empty.
	reserved map[manifest.Key]bool
}

// done are the words of changes, as they were made and as they would be.
var done = map[string][2]string{
	actionCreate: {"created", "would create"}, actionChange: {"changed", "would change"}, actionDelete: {"deleted", "would delete"},
	actionNone: {"unchanged", "unchanged"},
}

// run makes changes until one fails; with --keep-going, it makes all and returns the first error.
func (e *executor) run(ctx context.Context, changes []change) error {
	var first error
	e.pending, e.reserved = map[manifest.Key]string{}, map[manifest.Key]bool{}
	for _, c := range changes {
		if c.action == actionCreate && c.want.Kind == manifest.KindJob {
			e.pending[c.want.Key()] = c.want.Name()
		}
	}
	for i, c := range changes {
		shape := c.shape()
		delete(e.pending, c.object().Key())
		err := ctx.Err()
		if err == nil && !e.opts.dryRun {
			err = e.make(ctx, c)
		}
		if err != nil {
			err = command.InWords(e.cmd, err)
			shape.Error = err.Error()
			e.result.Failed++
			e.result.Changes = append(e.result.Changes, shape)
			err = fmt.Errorf("%s %q: %w", shape.Kind, shape.Name, err)
			if errors.Is(err, dberror.ErrRevision) {
				err = exit.With(exit.CodeConflict, fmt.Errorf("%s %q was changed since it was compared, and was left as it is: apply again", shape.Kind, shape.Name))
			}
			if !e.opts.keepGoing || ctx.Err() != nil {
				if rest := len(changes) - i - 1; rest > 0 {
					fmt.Fprintf(e.app.Stderr, "stopped before %s: see --keep-going\n", wording.Count(rest, "further object"))
				}
				return err
			}
			fmt.Fprintf(e.app.Stderr, "%s\n", output.OneLine(err.Error()))
			if first == nil {
				first = err
			}
			continue
		}
		shape.Done = !e.opts.dryRun && c.action != actionNone
		e.count(c.action)
		e.result.Changes = append(e.result.Changes, shape)
		e.print(shape)
	}
	if first != nil && e.result.Failed > 1 {
		return exit.With(exit.Code(first), fmt.Errorf("%d objects failed; the first: %w", e.result.Failed, first))
	}
	return first
}

func (e *executor) make(ctx context.Context, c change) error {
	switch c.action {
	case actionCreate, actionChange:
		if e.reserved[c.want.Key()] {
			state, err := definition.Read(ctx, e.store, []string{c.want.Name()})
			if err != nil {
				return err
			}
			c.have = state.Get(c.want.Key())
		}
		if err := e.reserve(ctx, c.want); err != nil {
			return err
		}
		return definition.Write(ctx, e.store, c.want, c.have)
	case actionDelete:
		return definition.Remove(ctx, e.store, c.have)
	}
	return nil
}

// reserve creates the jobs that a job's plan of roll-outs or a trigger names and that come later,
// without steps and disabled: plans can name each other, such as those of a job and the one that
// undoes it. The job of the plan never exists without its plan: a run of it would go to all targets
// at once.
func (e *executor) reserve(ctx context.Context, want manifest.Object) error {
	job, ok := want.Value.(*manifest.Job)
	if !ok {
		return nil
	}
	for _, key := range append(job.Upstreams(), job.Planned()...) {
		name, ok := e.pending[key]
		if !ok {
			continue
		}
		delete(e.pending, key)
		if _, err := catalog.On(e.store).SetJob(ctx, model.JobSpec{Name: name}, new(int64)); err != nil {
			return fmt.Errorf("create the job %q, which the definition names: %w", name, err)
		}
		e.reserved[key] = true
	}
	return nil
}

func (e *executor) count(action string) {
	switch action {
	case actionCreate:
		e.result.Created++
	case actionChange:
		e.result.Changed++
	case actionDelete:
		e.result.Deleted++
	default:
		e.result.Unchanged++
	}
}

// print prints what was done with an object. Those that are as defined are only counted.
func (e *executor) print(c output.ObjectChange) {
	if e.app.Structured() || c.Action == actionNone {
		return
	}
	word := done[c.Action][0]
	if e.opts.dryRun {
		word = done[c.Action][1]
	}
	styles := map[string]func(string) string{
		actionCreate: func(s string) string { return e.app.Painter().In(terminal.StyleGood, s) },
		actionChange: func(s string) string { return e.app.Painter().In(terminal.StyleBusy, s) },
		actionDelete: func(s string) string { return e.app.Painter().In(terminal.StyleBad, s) },
	}
	line := fmt.Sprintf("%s %s %s", styles[c.Action](word), c.Kind, terminal.Clean(c.Name))
	if len(c.Fields) > 0 {
		line += ": " + terminal.Clean(fieldList(c.Fields))
	}
	fmt.Fprintln(e.app.Stdout, line)
}

// fieldList returns the first fields, and the number of the others.
func fieldList(fields []string) string {
	const most = 6
	if len(fields) <= most {
		return strings.Join(fields, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(fields[:most], ", "), len(fields)-most)
}

func (e *executor) summary(w io.Writer) error {
	r := e.result
	text := fmt.Sprintf("%d created, %d changed, %d unchanged", r.Created, r.Changed, r.Unchanged)
	if e.opts.prune {
		text += fmt.Sprintf(", %d deleted", r.Deleted)
	}
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	if e.opts.dryRun {
		text += " (dry run: nothing was changed)"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
