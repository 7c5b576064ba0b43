package tds

import "fmt"

// Version is a protocol version as LOGIN7 and LOGINACK carry it (MS-TDS 2.2.6.4, 2.2.7.14).
type Version uint32

// The versions that clients request. TDS 8.0 is 7.4 inside TLS from the first byte.
const (
	Version70  Version = 0x70000000 // SQL Server 7.0; refused
	Version71  Version = 0x71000000 // SQL Server 2000
	Version71A Version = 0x71000001 // SQL Server 2000 SP1
	Version72  Version = 0x72090002 // SQL Server 2005
	Version73A Version = 0x730A0003 // SQL Server 2008
	Version73B Version = 0x730B0003 // SQL Server 2008 R2; NBCROW
	Version74  Version = 0x74000004 // SQL Server 2012 and later
	Version80  Version = 0x08000000 // strict encryption, SQL Server 2022
)

// negotiate returns the version for a client that requests v: the highest known one that is not
// newer, or [ErrVersion].
func (v Version) negotiate() (Version, error) {
	switch {
	case v == Version80:
		return Version80, nil
	case v < Version71:
		return 0, fmt.Errorf("%w %#08x: want TDS 7.1 or later", ErrVersion, uint32(v))
	case v == Version71:
		return Version71, nil
	case v < Version72:
		return Version71A, nil
	case v < Version73A:
		return Version72, nil
	case v < Version73B:
		return Version73A, nil
	case v < Version74:
		return Version73B, nil
	default:
		return Version74, nil
	}
}

// since72 reports whether requests have ALL_HEADERS, counts have 64 bits, and (max) types exist.
func (v Version) since72() bool { return v == Version80 || v >= Version72 }

// Multiple reports whether a connection can have several requests at once (MARS).
func (v Version) Multiple() bool { return v.since72() }

// since73 reports whether date, time, datetime2, datetimeoffset and table-valued parameters exist.
func (v Version) since73() bool { return v == Version80 || v >= Version73A }

// since73B reports whether NBCROW exists.
func (v Version) since73B() bool { return v == Version80 || v >= Version73B }
