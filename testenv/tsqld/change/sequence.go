package change

import (
	"context"
	"math/big"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Sequences evaluates NEXT VALUE FOR in the statements of one request.
type Sequences struct {
	ctx    context.Context
	s      *session.Session
	host   Interpreter
	shared map[string]*sharedValue // values of the current row of the statement, by key
}

// Forget forgets the values that the statement before has drawn.
func (q *Sequences) Forget() { q.shared = nil }

// sharedValue is a sequence value that several NEXT VALUE FOR of one row share.
type sharedValue struct {
	v         types.Value
	remaining int // number of NEXT VALUE FOR that have not read the value yet
}

// function returns the SQLite function of NEXT VALUE FOR for a key: see [keys.LocalSequence].
func (q *Sequences) function(key string) (store.Func, error) {
	places := 1
	base := key
	if part := strings.Split(key, "|"); len(part) == 4 {
		n, err := strconv.Atoi(part[3])
		if err != nil {
			return nil, mserr.NotSupported("the function key %s", key)
		}
		places, base = n, strings.Join(part[:3], "|")
	}
	d, object, err := keys.Object(base, keys.LocalSequence)
	if err != nil {
		return nil, err
	}
	if places == 1 {
		return func(*meter.Meter, []types.Value) (types.Value, error) {
			return q.next(d, object)
		}, nil
	}
	return func(*meter.Meter, []types.Value) (types.Value, error) {
		if shared := q.shared[key]; shared != nil && shared.remaining > 0 {
			shared.remaining--
			return shared.v, nil
		}
		v, err := q.next(d, object)
		if q.shared == nil {
			q.shared = map[string]*sharedValue{}
		}
		q.shared[key] = &sharedValue{v, places - 1}
		return v, err
	}, nil
}

// next evaluates NEXT VALUE FOR.
func (q *Sequences) next(database int, object int32) (types.Value, error) {
	s := q.s
	d := s.DatabaseByID(database)
	if d == nil {
		return nil, mserr.NoDatabase(strconv.Itoa(database))
	}
	sequence, ok := d.ObjectByID(object).(*catalog.Sequence)
	if !ok {
		return nil, mserr.NotSequence(strconv.Itoa(int(object)))
	}
	owner := q.host.Activation().Owner
	if !s.May(d, "UPDATE", catalog.Securable{Class: catalog.ClassObject, Major: int(object)}) &&
		(owner < 0 || d.Owner(sequence) != owner) {
		return nil, session.PermissionDenied(d, sequence, "UPDATE")
	}
	var v *big.Int
	draw := func() error {
		var err error
		v, err = q.s.Counters.DrawSequence(q.ctx, d, sequence)
		return err
	}
	var err error
	if s.Tran.Locked(database) {
		err = draw()
	} else {
		err = q.s.Atomic(q.ctx, session.Scope{Databases: []int{database}}, draw)
	}
	if err != nil {
		return nil, err
	}
	return sequence.Value(v)
}

// Around calls do, which runs a statement that changes at most temporary tables. A statement with
// NEXT VALUE FOR writes to the databases of its sequences, so that the SQLite transaction must be
// open before the statement starts.
func (q *Sequences) Around(n *plan.Needs, do func() error) error {
	if n.Sequences {
		return q.s.Atomic(q.ctx, session.Scope{Databases: n.Databases}, do)
	}
	return do()
}
