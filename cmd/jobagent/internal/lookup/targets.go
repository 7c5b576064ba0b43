package lookup

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/targets"
)

// pageOfTargets is the number of databases that one call reads.
const pageOfTargets = 1000

// shownNames is the number of names that an error shows.
const shownNames = 10

// StartTargets finds the databases to which a start of a job is limited: by SERVER/DATABASE, by the
// name of a database that a run had or that is a member of one of the job's target groups, or by
// target ID. Whether the job may run on them is for the procedure to say. A name that matches
// nothing is an error, and so is one that several servers have.
func StartTargets(ctx context.Context, store *controldb.Store, job string, names []string) ([]targets.Target, error) {
	return choose(names, true, func() ([]targets.Target, error) { return knownTargets(ctx, store, job) })
}

// RunTargets finds the databases to which a rerun is limited, among those of the run.
func RunTargets(ctx context.Context, store *controldb.Store, run uuid.UUID, names []string) ([]targets.Target, error) {
	return choose(names, false, func() ([]targets.Target, error) {
		rows, err := executions.On(store).Targets(ctx, run, executions.RunTargetFilter{Message: 1})
		if err != nil {
			return nil, err
		}
		var known []targets.Target
		for _, e := range rows {
			if e.Database != "" {
				known = append(known, targets.Target{ID: e.TargetID, Server: e.Server, Database: e.Database})
			}
		}
		return known, nil
	})
}

// knownTargets reads the databases of a job's target groups, as runs resolved them last, and
// the members that are databases. If a group was never resolved, it reads all databases of runs.
func knownTargets(ctx context.Context, store *controldb.Store, job string) ([]targets.Target, error) {
	steps, err := catalog.On(store).JobSteps(ctx, job, nil)
	if err != nil {
		return nil, err
	}
	var known []targets.Target
	seen := map[string]bool{}
	everything := false
	for _, s := range steps {
		if s.TargetGroup == "" || seen[s.TargetGroup] {
			continue
		}
		seen[s.TargetGroup] = true
		members, err := targetgroups.On(store).Members(ctx, s.TargetGroup)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if m.Membership != targets.Exclude && m.Kind == targets.SQLDatabase && !m.IsPattern() {
				known = append(known, targets.NewTarget(m.Server, m.Database, ""))
			}
		}
		list, err := outcomeTargets(ctx, store, s.TargetGroup)
		if err != nil {
			return nil, err
		}
		everything = everything || len(list) == 0
		known = append(known, list...)
	}
	if everything {
		list, err := outcomeTargets(ctx, store, "")
		if err != nil {
			return nil, err
		}
		known = append(known, list...)
	}
	return known, nil
}

// outcomeTargets reads the databases of a group as a run resolved it last, or, of the empty name,
// all that a run had.
func outcomeTargets(ctx context.Context, store *controldb.Store, group string) (list []targets.Target, err error) {
	f := executions.TargetFilter{Group: group, Top: pageOfTargets}
	for {
		o, err := executions.On(store).TargetOutcomes(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, t := range o.Targets {
			if t.Database != "" {
				list = append(list, targets.Target{ID: t.ID, Server: t.Server, Database: t.Database})
			}
		}
		if o.NextServer == "" {
			return list, nil
		}
		f.After = executions.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}
	}
}

// choose finds the databases that names name. With open, a SERVER/DATABASE need not be known. The
// known ones are read if they are needed.
func choose(names []string, open bool, read func() ([]targets.Target, error)) ([]targets.Target, error) {
	if n := len(names); n > executions.MaxOnlyTargets {
		return nil, exit.Usagef("%d databases are named: at most %d are permitted; name none to run on all", n, executions.MaxOnlyTargets)
	}
	var byKey map[string]targets.Target
	var byName map[string][]targets.Target
	index := func() error {
		if byKey != nil {
			return nil
		}
		list, err := read()
		byKey, byName = map[string]targets.Target{}, map[string][]targets.Target{}
		for _, t := range list {
			key := targets.DatabaseKey(t.Server, t.Database)
			if _, ok := byKey[key]; !ok {
				name := targets.FoldName(t.Database)
				byKey[key], byName[name] = t, append(byName[name], t)
			}
		}
		return err
	}
	var chosen []targets.Target
	var unknown []string
	for _, name := range names {
		if id, err := uuid.Parse(name); err == nil && len(name) == len(id.String()) {
			chosen = append(chosen, targets.Target{ID: id})
			continue
		}
		server, database, both := strings.Cut(name, "/")
		if both && open && server != "" && database != "" {
			chosen = append(chosen, targets.NewTarget(server, database, ""))
			continue
		}
		if err := index(); err != nil {
			return nil, err
		}
		if t, ok := byKey[targets.DatabaseKey(server, database)]; both && ok {
			chosen = append(chosen, t)
			continue
		}
		switch found := byName[targets.FoldName(name)]; len(found) {
		case 0:
			unknown = append(unknown, name)
		case 1:
			chosen = append(chosen, found[0])
		default:
			return nil, exit.Usagef("%d servers have a database %q: want SERVER/DATABASE, such as %s", len(found), name, found[0])
		}
	}
	if len(unknown) > 0 {
		where, hint := "in the run", "jobagent execution targets lists its databases"
		if open {
			where, hint = "among the databases that runs had, and no member of the job's target groups",
				"name one that is new as SERVER/DATABASE; jobagent target-group resolve lists the databases of a group"
		}
		more := ""
		if len(unknown) > shownNames {
			unknown, more = unknown[:shownNames], fmt.Sprintf(" and %d more", len(unknown)-shownNames)
		}
		return nil, exit.With(exit.CodeNotFound, fmt.Errorf("not %s: %s%s; %s", where, strings.Join(unknown, ", "), more, hint))
	}
	return chosen, nil
}
