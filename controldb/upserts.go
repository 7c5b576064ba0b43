package controldb

import (
	"context"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Put is what a call that creates or replaces an object has done. An object that was already as
// wanted keeps its revision. Within [Store.Together], it is zero.
type Put[T any] struct {
	Created bool
	// Object is what the call left. It was read in the call's transaction, so that it has nothing
	// of what another session did afterwards.
	Object T
}

// A parameter ifMatch is the revision that the object must have, or else the call does nothing and
// returns [dberror.ErrRevision]: 0 means that it must not exist, -1 that it must exist, nil
// neither.

// PutObject makes a call that creates or replaces an object, and reads the object by a query. It is
// for the packages below controldb.
func PutObject[T any](ctx context.Context, conn *call.Conn, op string, c *call.Call, ifMatch *int64, query string, args ...any) (Put[T], error) {
	var p Put[T]
	call.Opt(c, "if_match", ifMatch).Out("created", &p.Created)
	var err error
	p.Object, err = call.Left[T](ctx, conn, op, c.Read(query, args...))
	return p, err
}
