package change

import (
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

// sharedValue is a sequence value that several NEXT VALUE FOR of one row share.
type sharedValue struct {
	v         types.Value
	remaining int // number of NEXT VALUE FOR that have not read the value yet
}

// sequenceFunc returns the SQLite function of NEXT VALUE FOR for a key: see
// [keys.LocalSequence].
func (x *Executor) sequenceFunc(key string) (store.Func, error) {
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
			return x.nextSequence(d, object)
		}, nil
	}
	return func(*meter.Meter, []types.Value) (types.Value, error) {
		if shared := x.sequenceValues[key]; shared != nil && shared.remaining > 0 {
			shared.remaining--
			return shared.v, nil
		}
		v, err := x.nextSequence(d, object)
		if x.sequenceValues == nil {
			x.sequenceValues = map[string]*sharedValue{}
		}
		x.sequenceValues[key] = &sharedValue{v, places - 1}
		return v, err
	}, nil
}

// nextSequence evaluates NEXT VALUE FOR.
func (x *Executor) nextSequence(database int, object int32) (types.Value, error) {
	s := x.s
	d := s.DatabaseByID(database)
	if d == nil {
		return nil, mserr.NoDatabase(strconv.Itoa(database))
	}
	q, ok := d.ObjectByID(object).(*catalog.Sequence)
	if !ok {
		return nil, mserr.NotSequence(strconv.Itoa(int(object)))
	}
	owner := x.host.Activation().Owner
	if !s.May(d, "UPDATE", catalog.Securable{Class: catalog.ClassObject, Major: int(object)}) &&
		(owner < 0 || d.Owner(q) != owner) {
		return nil, session.PermissionDenied(d, q, "UPDATE")
	}
	var v *big.Int
	draw := func() error {
		var err error
		v, err = x.s.Counters.DrawSequence(x.ctx, d, q)
		return err
	}
	var err error
	if s.Tran.Locked(database) {
		err = draw()
	} else {
		err = x.s.Atomic(x.ctx, session.Scope{Databases: []int{database}}, draw)
	}
	if err != nil {
		return nil, err
	}
	return q.Value(v)
}

// WithSequences calls do, which runs a statement that changes at most temporary tables. A statement
// with NEXT VALUE FOR writes to the databases of its sequences, so that the SQLite transaction must
// be open before the statement starts.
func (x *Executor) WithSequences(n *plan.Needs, do func() error) error {
	if n.Sequences {
		return x.s.Atomic(x.ctx, session.Scope{Databases: n.Databases}, do)
	}
	return do()
}
