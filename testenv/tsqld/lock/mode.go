package lock

import "strings"

// Mode is the strength of a lock.
type Mode uint8

// The modes of sp_getapplock. Exclusive is that of a writer lock.
const (
	None Mode = iota // as by APPLOCK_MODE: not held
	IntentShared
	Shared
	Update
	IntentExclusive
	SharedIntentExclusive // only as the sum of Shared and IntentExclusive
	UpdateIntentExclusive // only as the sum of Update and IntentExclusive
	Exclusive
)

// names are those of sp_getapplock and APPLOCK_MODE.
var names = [...]string{
	None: "NoLock", IntentShared: "IntentShared", Shared: "Shared", Update: "Update", IntentExclusive: "IntentExclusive",
	SharedIntentExclusive: "SharedIntentExclusive", UpdateIntentExclusive: "UpdateIntentExclusive", Exclusive: "Exclusive",
}

// String is the name that APPLOCK_MODE returns.
func (m Mode) String() string { return names[m] }

// Abbreviation is sys.dm_tran_locks.request_mode: S, X, IX...
func (m Mode) Abbreviation() string {
	return [...]string{"NULL", "IS", "S", "U", "IX", "SIX", "UIX", "X"}[m]
}

// ParseMode reads @LockMode of sp_getapplock, which takes five of the modes.
func ParseMode(s string) (Mode, bool) {
	for _, m := range []Mode{IntentShared, Shared, Update, IntentExclusive, Exclusive} {
		if strings.EqualFold(s, names[m]) {
			return m, true
		}
	}
	return None, false
}

// compatible says which modes can be held side by side ("Lock Compatibility", transaction locking and row versioning guide).
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

// Compatible reports whether two owners can hold these modes of one resource.
func Compatible(a, b Mode) bool { return compatible[a][b] }

// join is the weakest mode that is at least as strong as both.
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
