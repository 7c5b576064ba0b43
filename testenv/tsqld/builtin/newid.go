package builtin

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// evalNewID returns a random (version 4) uniqueidentifier.
func evalNewID(Env, []types.Type, types.Type, []types.Value) (types.Value, error) {
	var u [16]byte
	if _, err := rand.Read(u[:]); err != nil {
		return nil, err
	}
	u[6] = u[6]&0x0F | 0x40 // version 4
	u[8] = u[8]&0x3F | 0x80 // variant of RFC 9562
	return types.GUIDFromRFC(u), nil
}

// sequential is the state of NEWSEQUENTIALID. Each value is greater than all earlier ones in SQL
// Server's order, as long as the clock does not go back across a restart.
var sequential struct {
	sync.Mutex
	counter uint64
	node    [6]byte
}

// evalSequentialID counts in the bytes that sort after the node's bytes, which are constant in a
// process, so that the values ascend.
func evalSequentialID(Env, []types.Type, types.Type, []types.Value) (types.Value, error) {
	s := &sequential
	s.Lock()
	defer s.Unlock()
	if s.counter == 0 {
		if _, err := rand.Read(s.node[:]); err != nil {
			return nil, err
		}
		s.counter = uint64(time.Now().UnixNano()) / 100
	}
	s.counter++
	v := make([]byte, 16) // stored form: the most significant bytes first
	copy(v, s.node[:])
	v[6] = 0x80
	binary.BigEndian.PutUint64(v[8:], s.counter)
	return v, nil
}
