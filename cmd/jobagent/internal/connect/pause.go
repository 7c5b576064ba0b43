package connect

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/identity"
)

// WarnPause writes a warning to stderr if the control database is paused. A login that may not see
// that gets none.
func (c *Connections) WarnPause(ctx context.Context, store *controldb.Store) error {
	i, err := identity.On(store).Read(ctx)
	if dberror.NumberOf(err) != 0 {
		return nil
	}
	if err != nil || !i.Paused() {
		return err
	}
	return c.settings.printer.Warn([]string{output.OneLine(fmt.Sprintf("the control database (incarnation %s) is paused since %s by %s: %s. Nothing starts until: jobagent db resume",
		i.Incarnation, i.PausedAt.Format(time.RFC3339), i.PausedBy, cmp.Or(i.PauseReason, "no reason given")))})
}
