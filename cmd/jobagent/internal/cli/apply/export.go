package apply

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/schedule"
)

func newExportCommand(a *connect.App) *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use: "export", Short: "Write the definitions of jobs and other objects as files", Args: cobra.NoArgs,
		Long: `Write the definitions of jobs, target groups, calendars, limits, alerts and alert channels as YAML
or JSON: to stdout, or with --dir as files, one for each object, with the scripts of the steps
beside them. jobagent apply reads them again, and then changes nothing.

Not exported: system jobs, jobs of the SAP and Scheduler APIs, pauses and mutes, credentials and
secrets, and settings.`,
		Example: "  jobagent export --dir jobs\n  jobagent export --job nightly > nightly.yaml\n  jobagent export -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error { return runExport(cmd.Context(), a, store, opts) })
		},
	}
	cmd.Flags().StringArrayVar(&opts.jobs, "job", nil, "only this `job`, with the target groups and calendars that it uses; may be repeated")
	cmd.Flags().StringArrayVar(&opts.groups, "target-group", nil, "only this target `group`; may be repeated, and combined with --job")
	cmd.Flags().StringVar(&opts.dir, "dir", "", "write files into this `directory`, which is made if it does not exist; files of the same names are replaced")
	return cmd
}

// exportOptions are the flags of export.
type exportOptions struct {
	jobs, groups []string
	dir          string
}

func runExport(ctx context.Context, a *connect.App, store *controldb.Store, opts exportOptions) error {
	names := opts.jobs
	if len(opts.groups) > 0 && names == nil {
		names = []string{}
	}
	d, err := store.Definitions(ctx, names)
	if err != nil {
		return err
	}
	s, err := newState(d)
	if err != nil {
		return err
	}
	list := s.own()
	if names != nil {
		if list, err = selected(s, opts); err != nil {
			return err
		}
	}
	if opts.dir != "" {
		return exportTree(a, list, opts.dir)
	}
	if a.Format == output.FormatJSON || a.Structured() && a.Format != output.FormatYAML {
		docs := make([]json.RawMessage, 0, len(list))
		for _, o := range list {
			docs = append(docs, manifest.JSONDocument(o))
		}
		return a.Emit(docs, nil)
	}
	w := bufio.NewWriter(a.Stdout)
	for i, o := range list {
		if i > 0 {
			_, _ = w.WriteString("---\n") // the error comes back from Flush
		}
		_, _ = w.WriteString(manifest.YAML(o))
	}
	return w.Flush()
}

// selected returns the objects of --job and --target-group, and those that the jobs use.
func selected(s *state, opts exportOptions) ([]manifest.Object, error) {
	var keys []manifest.Key
	for _, name := range opts.jobs {
		o := s.byKey[manifest.Key{Kind: manifest.KindJob, Name: strings.ToLower(name)}]
		switch {
		case o == nil:
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the job %q does not exist; jobagent job list shows all jobs", name))
		case o.origin != "":
			return nil, exit.With(exit.CodeConflict, fmt.Errorf("the job %q is defined through the %s API, and cannot be exported", name, o.origin))
		}
		keys = append(keys, o.Key())
		job := o.Value.(*manifest.Job)
		for _, step := range job.Steps {
			keys = append(keys, manifest.Key{Kind: manifest.KindTargetGroup, Name: strings.ToLower(step.TargetGroup)})
		}
		for _, h := range job.Schedules {
			_, spec := h.Definition()
			for _, c := range schedule.CalendarNames(spec) {
				keys = append(keys, manifest.Key{Kind: manifest.KindCalendar, Name: strings.ToLower(c)})
			}
		}
	}
	for _, name := range opts.groups {
		key := manifest.Key{Kind: manifest.KindTargetGroup, Name: strings.ToLower(name)}
		if s.byKey[key] == nil {
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the target group %q does not exist; jobagent target-group list shows all groups", name))
		}
		keys = append(keys, key)
	}
	return slices.DeleteFunc(s.own(), func(o manifest.Object) bool { return !slices.Contains(keys, o.Key()) }), nil
}

// folders are the folders of the kinds.
var folders = map[manifest.Kind]string{
	manifest.KindTargetGroup: "target-groups", manifest.KindCalendar: "calendars", manifest.KindAlertChannel: "alert-channels",
	manifest.KindJob: "jobs", manifest.KindLimit: "limits", manifest.KindAlert: "alerts",
}

// exportTree writes objects as files.
func exportTree(a *connect.App, list []manifest.Object, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.Usage(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return exit.Usage(err)
	}
	defer root.Close()
	t := tree{root: root, used: map[string]bool{}}
	if err := t.write(manifest.SchemaFile, string(manifest.Schema())); err != nil {
		return err
	}
	for _, o := range list {
		if err := t.object(o); err != nil {
			return err
		}
	}
	result := output.ExportedFiles{Dir: dir, Files: t.files, Objects: len(list)}
	return a.Done(result, "wrote %d %s as %d files into %s", len(list), plural(len(list), "object", "objects"), len(t.files), dir)
}

// tree is a directory into which files are written.
type tree struct {
	root  *os.Root
	used  map[string]bool // in lower case: some file systems do not tell cases apart
	files []string
}

func (t *tree) object(o manifest.Object) error {
	folder := folders[o.Kind]
	name := t.unused(folder, fileName(o.Name()), ".yaml")
	if job, ok := o.Value.(*manifest.Job); ok {
		copied := *job
		copied.Steps = nil
		for i, s := range job.Steps {
			step := *s
			copied.Steps = append(copied.Steps, &step)
			if kind, text := s.CommandType(); kind == "TSql" {
				file := t.unused(path.Join(folder, name), fmt.Sprintf("%02d-%s", i+1, fileName(s.Name)), ".sql")
				if err := t.write(path.Join(folder, name, file+".sql"), text); err != nil {
					return err
				}
				step.Command.File = path.Join(name, file+".sql")
			}
		}
		o.Value = &copied
	}
	return t.write(path.Join(folder, name+".yaml"), "# yaml-language-server: $schema=../"+manifest.SchemaFile+"\n"+manifest.YAML(o))
}

// unused returns a name of a file that this export has not written yet.
func (t *tree) unused(folder, name, ext string) string {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d", name, n)
		}
		if key := strings.ToLower(path.Join(folder, try+ext)); !t.used[key] {
			t.used[key] = true
			return try
		}
	}
}

// fileName makes the name of a file that all systems take.
func fileName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '.' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 80 {
			break
		}
	}
	clean := strings.TrimRight(b.String(), "-.")
	switch strings.ToUpper(clean) {
	case "", "CON", "PRN", "AUX", "NUL", "COM1", "LPT1":
		return "object-" + clean
	}
	return clean
}

// write replaces a file.
func (t *tree) write(name, text string) error {
	folder := path.Dir(name)
	made := ""
	for part := range strings.SplitSeq(folder, "/") {
		made = path.Join(made, part)
		if made == "." {
			continue
		}
		if err := t.root.Mkdir(made, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	file, err := t.root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	t.files = append(t.files, name)
	return err
}
