package actions

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/targets"
)

// maxBaseline bounds the name of a baseline, in UTF-16 code units.
const maxBaseline = 128

// confirmSetBaseline says what a baseline of a database is.
func confirmSetBaseline(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	p, err := database(ctx, r)
	if err != nil {
		return nil, err
	}
	state := "No step of type Drift has read it yet."
	known, err := drifts.On(r.Store).History(ctx, drifts.Filter{Target: p.Target, Current: true})
	if err != nil {
		return nil, err
	}
	if len(known) > 0 {
		state = fmt.Sprintf("It has had this schema since %s, and was last read on %s.", instant(known[0].FirstSeen), instant(known[0].LastSeen))
	}
	name := value(r, "name")
	typed := name
	if typed == "" {
		typed = "BASELINE"
	}
	const button = "Set the baseline"
	return &page.Confirmation{
		Title: "Set a baseline", Nav: "databases", Button: button, Back: r.Path("databases", p.Target.String()),
		Effects: sentences(
			fmt.Sprintf("Declares the schema that %s on %s had when it was last read to be right.", quoted(p.Database), p.Server),
			"Steps of type Drift that name the baseline compare their databases with it. It stays as it is when the database changes. A baseline of the name is replaced.", state,
		),
		Fields: []page.Field{{Name: "name", Label: "Name", Required: true, MaxLength: maxBaseline, Help: "Without a slash; not majority and not none.", Value: name}},
		Equivalents: commands(page.CLI("drift", "baseline", "set", typed, p.Server+"/"+p.Database), page.TSQL("jobs.sp_set_drift_baseline",
			page.Arg{Name: "baseline_name", Value: typed}, page.Arg{Name: "server_name", Value: p.Server}, page.Arg{Name: "database_name", Value: p.Database},
			page.Arg{Name: "target_id", Value: p.Target})),
	}, nil
}

func setBaseline(ctx context.Context, r *page.Request) (*page.Done, error) {
	p, err := database(ctx, r)
	if err != nil {
		return nil, err
	}
	name := value(r, "name")
	if err := drifts.On(r.Store).SetBaseline(ctx, name, targets.Target{ID: p.Target, Server: p.Server, Database: p.Database}); err != nil {
		return nil, refuse(err, "name", 50093, 50097, 50491)
	}
	return &page.Done{Location: r.Path("drift") + "#baselines", Notice: "The baseline " + quoted(name) + " is set."}, nil
}

// confirmDeleteBaseline says what becomes of steps without the baseline.
func confirmDeleteBaseline(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	list, err := drifts.On(r.Store).Baseline(ctx, r.Value("baseline"))
	if err != nil {
		return nil, err
	}
	one := list[0]
	const button = "Delete the baseline"
	return &page.Confirmation{
		Title: button, Nav: "databases", Button: button, Danger: true, Back: r.Path("drift"),
		Effects: sentences(
			fmt.Sprintf("Deletes %s, which is the schema of %s that was set on %s.", quoted(one.Name), one.Source, instant(one.Set)),
			"Steps that name it fail from then on.",
		),
		Equivalents: commands(page.CLI("drift", "baseline", "delete", one.Name), page.TSQL("jobs.sp_delete_drift_baseline", page.Arg{Name: "baseline_name", Value: one.Name})),
	}, nil
}

func deleteBaseline(ctx context.Context, r *page.Request) (*page.Done, error) {
	name := r.Value("baseline")
	if err := drifts.On(r.Store).DeleteBaseline(ctx, name); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("drift") + "#baselines", Notice: "The baseline " + quoted(name) + " is deleted."}, nil
}
