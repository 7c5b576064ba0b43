package exec

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// drawn is a value of a sequence that several places of a row share.
type drawn struct {
	v    types.Value
	left int // places that have not had it
}

// sequenceFunc is NEXT VALUE FOR by its key: see [compile.LocalSequence].
func (r *run) sequenceFunc(key string) (store.Func, error) {
	places := 1
	base := key
	if part := strings.Split(key, "|"); len(part) == 4 {
		n, err := strconv.Atoi(part[3])
		if err != nil {
			return nil, mserr.NotSupported("the function key %s", key)
		}
		places, base = n, strings.Join(part[:3], "|")
	}
	d, object, err := localKey(base, compile.LocalSequence)
	if err != nil {
		return nil, err
	}
	if places == 1 {
		return func(*meter.Meter, []types.Value) (types.Value, error) { return r.nextSequence(d, object) }, nil
	}
	return func(*meter.Meter, []types.Value) (types.Value, error) {
		if shared := r.drawn[key]; shared != nil && shared.left > 0 {
			shared.left--
			return shared.v, nil
		}
		v, err := r.nextSequence(d, object)
		if r.drawn == nil {
			r.drawn = map[string]*drawn{}
		}
		r.drawn[key] = &drawn{v, places - 1}
		return v, err
	}, nil
}
