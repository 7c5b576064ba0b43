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

// sharedValue is a sequence value that several NEXT VALUE FOR of one row share.
type sharedValue struct {
	v         types.Value
	remaining int // number of NEXT VALUE FOR that have not read the value yet
}

// sequenceFunc returns the SQLite function of NEXT VALUE FOR for a key: see
// [compile.LocalSequence].
func (r triggers) sequenceFunc(key string) (store.Func, error) {
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
		return func(*meter.Meter, []types.Value) (types.Value, error) {
			return rowChanges(r).nextSequence(d, object)
		}, nil
	}
	return func(*meter.Meter, []types.Value) (types.Value, error) {
		if shared := r.sequenceValues[key]; shared != nil && shared.remaining > 0 {
			shared.remaining--
			return shared.v, nil
		}
		v, err := rowChanges(r).nextSequence(d, object)
		if r.sequenceValues == nil {
			r.sequenceValues = map[string]*sharedValue{}
		}
		r.sequenceValues[key] = &sharedValue{v, places - 1}
		return v, err
	}, nil
}
