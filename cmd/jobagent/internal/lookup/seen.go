package lookup

import (
	"context"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/targets"
)

// Seen calls each for the databases that runs have had, in the order of their names, until it
// returns false. A database that has only tags or a pause is left out. The filter f chooses the
// databases; Seen sets its Top and After. Seen returns errors of the control database.
func Seen(ctx context.Context, store *controldb.Store, f targetgroups.KnownTargetFilter, each func(targetgroups.KnownTarget) bool) error {
	f.Top = targetgroups.MaxKnownTargets
	for {
		page, err := targetgroups.On(store).KnownTargets(ctx, f)
		if err != nil {
			return err
		}
		for _, t := range page {
			if !t.FirstSeen.IsZero() && !each(t) {
				return nil
			}
		}
		if len(page) < f.Top {
			return nil
		}
		f.After = targets.Target{Server: page[len(page)-1].Server, Database: page[len(page)-1].Database}
	}
}
