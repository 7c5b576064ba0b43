package values

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/naming"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs/kit"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// completionLimit bounds the time of a completion: a person waits for it.
	completionLimit = 2 * time.Second
	// completionNames is the greatest number of names of one completion.
	completionNames = 100
)

// query asks for the values that begin with a text.
type query struct {
	app    *connect.App
	cmd    *cobra.Command
	given  map[string]string // the arguments before, by their words
	prefix string
	most   int // of names; 0: completionNames
}

// source lists values, with descriptions.
type source func(ctx context.Context, q query) []cobra.Completion

// nothing completes nothing: the value is free. Without a source, the shell would complete files.
func nothing(context.Context, query) []cobra.Completion { return nil }

// words completes fixed words.
func words(list ...string) source {
	return func(_ context.Context, q query) (found []cobra.Completion) {
		for _, w := range list {
			if len(w) >= len(q.prefix) && strings.EqualFold(w[:len(q.prefix)], q.prefix) {
				found = append(found, w)
			}
		}
		return found
	}
}

// both completes what either source does.
func both(a, b source) source {
	return func(ctx context.Context, q query) []cobra.Completion { return append(a(ctx, q), b(ctx, q)...) }
}

// names completes names of the control database. An error gives no names.
func names(kind naming.Kind) source {
	return func(ctx context.Context, q query) (found []cobra.Completion) {
		f := naming.Filter{Kind: kind, Prefix: q.prefix, Limit: cmp.Or(q.most, completionNames), Of: q.of()}
		_ = q.app.Complete(ctx, func(ctx context.Context, store *controldb.Store) error {
			list, err := naming.On(store).List(ctx, f)
			for _, n := range list {
				found = append(found, cobra.CompletionWithDesc(n.Name, describe(n)))
			}
			return err
		})
		return found
	}
}

// of returns the job or the target group whose steps, schedules or members are asked for.
func (q query) of() string {
	for _, word := range []string{"JOB", "GROUP"} {
		if name := q.given[word]; name != "" {
			return name
		}
	}
	if f := q.cmd.Flags().Lookup("job"); f != nil && f.Changed {
		return f.Value.String()
	}
	return ""
}

// describe returns the description of a name: its detail and its age.
func describe(n naming.Name) string {
	text := strings.Join(strings.Fields(n.Detail), " ")
	if !n.Created.IsZero() {
		text = strings.TrimPrefix(fmt.Sprintf("%s, %s ago", text, age(time.Since(n.Created))), ", ")
	}
	const most = 80
	return wording.Clip(text, most, wording.Characters)
}

// age writes a duration with one unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// limited completes the names of limits by their scope.
func limited(ctx context.Context, q query) []cobra.Completion {
	kinds := map[string]naming.Kind{"job": naming.OfJobs, "server": naming.OfServers, "credential": naming.OfCredentials}
	scope := q.given["SCOPE"]
	if kind, ok := kinds[strings.ToLower(scope)]; ok && q.cmd.Name() == "set" {
		return append(words("*")(ctx, q), names(kind)(ctx, q)...)
	}
	q.given = map[string]string{"JOB": scope}
	return append(words("*")(ctx, q), names(naming.OfLimits)(ctx, q)...)
}

// waves completes the names of the waves of the roll-out that is named before.
func waves(ctx context.Context, q query) (found []cobra.Completion) {
	id, err := uuid.Parse(q.given["ROLLOUT_ID"])
	if err != nil {
		return nil
	}
	_ = q.app.Complete(ctx, func(ctx context.Context, store *controldb.Store) error {
		list, err := rollouts.On(store).Waves(ctx, id)
		for _, w := range list {
			if strings.HasPrefix(w.Name, q.prefix) {
				found = append(found, cobra.CompletionWithDesc(w.Name, fmt.Sprintf("%s, %s", wording.Count(w.Targets, "target"), w.State)))
			}
		}
		return err
	})
	return found
}

// declaredOf reads the parameters of the job that is asked about.
func declaredOf(ctx context.Context, q query) (job startcheck.Job) {
	if q.of() == "" {
		return job
	}
	_ = q.app.Complete(ctx, func(ctx context.Context, store *controldb.Store) (err error) {
		job, err = startcheck.Read(ctx, store, q.of())
		return err
	})
	return job
}

// declaredNames completes the parameters that the job declares.
func declaredNames(ctx context.Context, q query) (found []cobra.Completion) {
	for _, d := range declaredOf(ctx, q).Declared {
		if strings.HasPrefix(d.Name, q.prefix) {
			found = append(found, cobra.CompletionWithDesc(d.Name, strings.TrimSpace(string(d.Type)+" "+d.Description)))
		}
	}
	return found
}

// declared completes NAME= of the parameters that the job declares or its steps use, and behind it
// the choices of the parameter.
func declared(ctx context.Context, q query) (found []cobra.Completion) {
	job := declaredOf(ctx, q)
	if name, _, valued := strings.Cut(q.prefix, "="); valued {
		d, _ := job.Parameter(name)
		for _, c := range d.Choices {
			found = append(found, name+"="+c.Text)
		}
		return slices.DeleteFunc(found, func(c cobra.Completion) bool { return !strings.HasPrefix(c, q.prefix) })
	}
	for _, d := range job.Declared {
		found = append(found, cobra.CompletionWithDesc(d.Name+"=", strings.TrimSpace(string(d.Type)+" "+d.Description)))
	}
	for _, name := range parameters.Unset(job.Used, nil) {
		if _, ok := job.Parameter(name); !ok {
			found = append(found, name+"=")
		}
	}
	return slices.DeleteFunc(found, func(c cobra.Completion) bool { return !strings.HasPrefix(c, q.prefix) })
}

// configured completes the credentials of the configuration file.
func configured(ctx context.Context, q query) []cobra.Completion {
	cfg, err := q.app.Config()
	if err != nil {
		return nil
	}
	var list []string
	for _, c := range cfg.Credentials {
		list = append(list, c.Name)
	}
	slices.Sort(list)
	return words(list...)(ctx, q)
}

// contextNames completes the names of contexts.
func contextNames(_ context.Context, q query) (found []cobra.Completion) {
	list, places := connect.ContextNames()
	for i, name := range list {
		if strings.HasPrefix(name, q.prefix) {
			found = append(found, cobra.CompletionWithDesc(name, places[i]))
		}
	}
	return found
}

// processes completes the processes of the configuration file.
func processes(ctx context.Context, q query) []cobra.Completion {
	cfg, err := q.app.Config()
	if err != nil {
		return nil
	}
	var list []string
	for _, p := range cfg.Processes {
		list = append(list, p.Name)
	}
	return words(list...)(ctx, q)
}

// zones completes the names of time zones, of IANA and of Windows, with the offsets that they have
// now.
func zones(_ context.Context, q query) (found []cobra.Completion) {
	now := time.Now()
	for _, name := range slices.Concat(schedule.Zones(), schedule.WindowsZones()) {
		if len(name) < len(q.prefix) || !strings.EqualFold(name[:len(q.prefix)], q.prefix) {
			continue
		}
		zone, err := schedule.LoadZone(name)
		if err != nil {
			continue // an abbreviation
		}
		text := now.In(zone).Format("UTC-07:00")
		if zone.String() != name {
			text += ", " + zone.String()
		}
		found = append(found, cobra.CompletionWithDesc(name, text))
	}
	return found
}

// commands completes the words of a command.
func commands(_ context.Context, q query) (found []cobra.Completion) {
	for _, c := range q.cmd.Root().Commands() {
		if strings.HasPrefix(c.Name(), q.prefix) && c.IsAvailableCommand() {
			found = append(found, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return found
}

// kitDefinitions completes the definitions of the maintenance kit.
func kitDefinitions(_ context.Context, q query) (found []cobra.Completion) {
	all, err := kit.Definitions()
	if err != nil {
		return nil
	}
	for _, d := range all {
		if strings.HasPrefix(d.Name, q.prefix) {
			found = append(found, cobra.CompletionWithDesc(d.Name, d.Summary))
		}
	}
	return found
}

// complete completes a value of a kind.
func complete(k Kind, q query) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := q.cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	q.app.Stderr = io.Discard
	switch {
	case k.Folder:
		return nil, cobra.ShellCompDirectiveFilterDirs
	case k.Files:
		return nil, cobra.ShellCompDirectiveDefault
	case len(k.Enum) > 0:
		return k.completeEnum(ctx, q), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	case k.source == nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if k.run {
		directive |= cobra.ShellCompDirectiveKeepOrder // the latest first
	}
	if k.Words == reference.Words || k.Words == parameter.Words {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return k.source(ctx, q), directive
}

// completeEnum completes a value of an enumeration, or the last one of several.
func (k Kind) completeEnum(ctx context.Context, q query) []cobra.Completion {
	before := ""
	if k.Separator != "" {
		if i := strings.LastIndex(q.prefix, k.Separator); i >= 0 {
			before, q.prefix = q.prefix[:i+1], q.prefix[i+1:]
		}
	}
	found := words(k.Enum...)(ctx, q)
	for i := range found {
		found[i] = before + found[i]
	}
	return found
}
