package lookup

import (
	"context"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/targetgroups"
)

// Seen calls each for the databases that runs have had, in the order of their names, until it
// returns false. A database that has only tags or a pause is left out. The filter f chooses the
// databases. Seen reads at most [targetgroups.MaxKnownTargets] of them, which bounds what a warning
// about a name costs. Seen reports whether each got all databases for which it asked: false means
// that there may be more. Seen returns errors of the control database.
func Seen(ctx context.Context, store *controldb.Store, f targetgroups.KnownTargetFilter, each func(targetgroups.KnownTarget) bool) (all bool, err error) {
	f.Top = targetgroups.MaxKnownTargets
	page, err := targetgroups.On(store).KnownTargets(ctx, f)
	if err != nil {
		return false, err
	}
	for _, t := range page {
		if !t.FirstSeen.IsZero() && !each(t) {
			return true, nil
		}
	}
	return len(page) < f.Top, nil
}
