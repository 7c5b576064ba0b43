package settings

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/model"
)

// Limit is a row of the view jobs.limits: how many targets may run at once.
type Limit struct {
	model.Limit
	// Running is how many targets the limit counts now, and Waiting how many more could start if it
	// allowed them to.
	Running   int       `db:"running"`
	Waiting   int       `db:"waiting"`
	UpdatedAt time.Time `db:"updated_at"`
}

// SetLimit creates or changes a limit.
func (s Store) SetLimit(ctx context.Context, l model.Limit) error {
	return s.conn.Exec(ctx, "set the limit", limitCall(l).In("max_concurrent_targets", int64(l.Max)))
}

// RemoveLimit removes a limit. Only its scope, name and server are used.
func (s Store) RemoveLimit(ctx context.Context, l model.Limit) error {
	return s.conn.Exec(ctx, "remove the limit", limitCall(l))
}

func limitCall(l model.Limit) *call.Call {
	return call.New("jobs.sp_set_limit").In("scope", l.Scope).In("name", l.Name).OptText("server_name", l.Server)
}

// Limits lists all limits, by scope and name.
func (s Store) Limits(ctx context.Context) ([]Limit, error) {
	return call.SelectAll[Limit](
		ctx,
		s.conn,
		"list limits",
		`SELECT scope, name, server_name, max_concurrent_targets, running, waiting, updated_at
FROM jobs.limits
ORDER BY scope, name, server_name;`)
}

// DefinedLimits is Limits without Running and Waiting, which cost a count of targets for each
// limit.
func (s Store) DefinedLimits(ctx context.Context) ([]Limit, error) {
	return call.SelectAll[Limit](ctx, s.conn, "read limits", `SELECT scope, name, server_name, max_concurrent_targets, updated_at
FROM jobs.limits
ORDER BY scope, name, server_name;`)
}
