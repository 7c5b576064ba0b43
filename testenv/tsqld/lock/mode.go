package lock

import "strings"

// Mode is the strength of a lock.
type Mode uint8

// The modes of sp_getapplock. A writer lock is always Exclusive.
const (
	None Mode = iota // not held; APPLOCK_MODE returns NoLock
	IntentShared
	Shared
	Update
	IntentExclusive
	SharedIntentExclusive // only as the join of Shared and IntentExclusive
	UpdateIntentExclusive // only as the join of Update and IntentExclusive
	Exclusive
)

// names are the names of the modes in sp_getapplock and APPLOCK_MODE.
var names = [...]string{
	None:                  "NoLock",
	IntentShared:          "IntentShared",
	Shared:                "Shared",
	Update:                "Update",
	IntentExclusive:       "IntentExclusive",
	SharedIntentExclusive: "SharedIntentExclusive",
	UpdateIntentExclusive: "UpdateIntentExclusive",
	Exclusive:             "Exclusive",
}

// String returns the name that APPLOCK_MODE returns.
func (m Mode) String() string { return names[m] }

// Abbreviation returns the mode as sys.dm_tran_locks.request_mode shows it: S, X, IX and so on.
func (m Mode) Abbreviation() string {
	return [...]string{"NULL", "IS", "S", "U", "IX", "SIX", "UIX", "X"}[m]
}

// ParseMode parses @LockMode of sp_getapplock, which accepts five of the modes.
func ParseMode(s string) (Mode, bool) {
	for _, m := range []Mode{IntentShared, Shared, Update, IntentExclusive, Exclusive} {
		if strings.EqualFold(s, names[m]) {
			return m, true
		}
	}
	return None, false
}

// compatible tells which modes two owners can hold at once. Source: "Lock Compatibility" in the
// transaction locking and row versioning guide.
var compatible = [...][8]bool{
	None:                  {true, true, true, true, true, true, true, true},
	IntentShared:          {true, true, true, true, true, true, true, false},
	Shared:                {true, true, true, true, false, false, false, false},
	Update:                {true, true, true, false, false, false, false, false},
	IntentExclusive:       {true, true, false, false, true, false, false, false},
	SharedIntentExclusive: {true, true, false, false, false, false, false, false},
	UpdateIntentExclusive: {true, true, false, false, false, false, false, false},
	Exclusive:             {true, false, false, false, false, false, false, false},
}

// Compatible reports whether two owners can hold one resource in the modes a and b at once.
func Compatible(a, b Mode) bool { return compatible[a][b] }

// join returns the weakest mode that is at least as strong as a and b.
func join(a, b Mode) Mode {
	a, b = min(a, b), max(a, b)
	switch {
	case a == b, a == None, b == Exclusive, a == IntentShared:
		return b
	case a == Shared && b == Update:
		return Update
	case a == Update && b == SharedIntentExclusive:
		return UpdateIntentExclusive
	case b == UpdateIntentExclusive:
		return UpdateIntentExclusive
	case a == Update: // and IntentExclusive
		return UpdateIntentExclusive
	}
	return SharedIntentExclusive // of Shared, IntentExclusive and SharedIntentExclusive
}
