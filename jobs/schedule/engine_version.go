package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// engineVersion is raised when the same specification may have other due instants than before.
const engineVersion = "1"

// engineFrom and engineUntil bound the rules of zones that Engine looks at. What is later than the
// last listed change of a zone follows from its last rule, which the years before show.
var (
	engineFrom  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	engineUntil = time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Engine names what due instants in a zone depend on beside the specification: this package's
// version, and a digest of the rules of all zones, wherever this machine takes them from. Equal
// texts give equal answers; after an update of the zone data the text differs, and stored answers
// are computed again (D-Z1).
var Engine = sync.OnceValue(func() string {
	hash := sha256.New()
	var number [8]byte
	for _, name := range Zones() {
		hash.Write([]byte(name))
		zone, err := LoadZone(name)
		if err != nil {
			continue // an abbreviation, or a zone that this machine does not know
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
