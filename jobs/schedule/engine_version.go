package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// engineVersion must be raised when the due instants of an existing specification can change.
const engineVersion = "2"

// engineFrom and engineUntil bound the changes of zones that Engine includes in its digest. Changes
// after the last listed one follow from the zone's last rule, which already applies to the years
// before.
var (
	engineFrom  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	engineUntil = time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Engine returns a text that identifies everything except the specification that affects due
// instants in a zone: the version of this package, and a digest of the rules of all zones on this
// machine. Equal texts mean equal results. The text changes after an update of the zone data, and
// stored due instants are computed again (D-Z1).
var Engine = sync.OnceValue(func() string {
	hash := sha256.New()
	var number [8]byte
	for _, name := range Zones() {
		hash.Write([]byte(name))
		zone, err := LoadZone(name)
		if err != nil {
			continue // an abbreviation, or a zone missing on this machine
		}
		for at := engineFrom; !at.IsZero() && at.Before(engineUntil); {
			_, offset := at.In(zone).Zone()
			binary.BigEndian.PutUint64(number[:], uint64(at.Unix()))
			hash.Write(number[:])
			binary.BigEndian.PutUint64(number[:], uint64(int64(offset)))
			hash.Write(number[:])
			_, at = at.In(zone).ZoneBounds()
		}
	}
	return "jobs/schedule " + engineVersion + ", zones " + hex.EncodeToString(hash.Sum(nil)[:6])
})
