package syntax

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
)

// maxFaults is the largest number of faults that are listed. A text of 64 KiB may have 30,000.
const maxFaults = 20

// maxShown is the largest size, in bytes, of a value or proposal in a fault.
const maxShown = 400

// Faults collects the faults of a specification in the order of their discovery (D-E5).
type Faults struct {
	List []Fault
	// more is the number of faults that List does not hold.
	more int
}

// Full reports whether no further fault will be listed. Its message and proposal need not be made.
func (f *Faults) Full() bool { return len(f.List) >= maxFaults }

// Skip counts one more fault if no further fault will be listed, and reports whether it did. It
// saves the work for the message and proposal of each of thousands of faults.
func (f *Faults) Skip() bool {
	if f.Full() {
		f.more++
	}
	return f.Full()
}

// Count returns the number of faults, listed or not.
func (f *Faults) Count() int { return len(f.List) + f.more }

// Add records one fault. value is JSON text, so that a string is quoted and a number is not. A long
// value is shortened, and has no proposal.
func (f *Faults) Add(path, value, allowed, nearest string) {
	f.add(Fault{Path: path, Value: value, Allowed: allowed, Nearest: nearest})
}

// add is [Faults.Add]. The fault may also say that it is about a name or a number.
func (f *Faults) add(fault Fault) {
	if f.Full() {
		f.more++
		return
	}
	if value := fault.Value; len(value) > maxShown {
		fault.Nearest = ""
		if text, quoted := strings.CutPrefix(value, `"`); quoted {
			fault.Value = Quote(wording.Clip(text, maxShown/2, wording.Bytes))
		} else {
			fault.Value = Quote(wording.Clip(value, maxShown/2, wording.Bytes))
		}
	}
	if len(fault.Nearest) > maxShown {
		fault.Nearest = ""
	}
	f.List = append(f.List, fault)
}

// Merge adds the faults of an *Error. It records any other error as one fault at path.
func (f *Faults) Merge(path string, err error) {
	var all *Error
	if !errors.As(err, &all) {
		if err != nil {
			f.Add(path, "null", err.Error(), "")
		}
		return
	}
	for _, fault := range all.Faults {
		switch {
		case fault.More > 0:
			f.more += fault.More
		case f.Full():
			f.more++
		default:
			f.List = append(f.List, fault)
		}
	}
}

// Err returns all faults as a *Error, or nil if there are none. If some are not listed, the last
// fault has their number.
func (f *Faults) Err() error {
	if len(f.List) == 0 {
		return nil
	}
	list := f.List
	if f.more > 0 {
		list = append(slices.Clone(list), Fault{Value: strconv.Itoa(f.more), More: f.more})
	}
	return &Error{Faults: list}
}

// MarshalJSON returns the form in which the command line and the database show a fault: path, value
// (the JSON value itself if it is valid) and a message of one sentence.
func (f Fault) MarshalJSON() ([]byte, error) {
	value := json.RawMessage(f.Value)
	if !json.Valid(value) {
		value = json.RawMessage(Quote(f.Value))
	}
	b, err := json.Marshal(struct {
		Path    string          `json:"path"`
		Value   json.RawMessage `json:"value"`
		Message string          `json:"message"`
	}{f.Path, value, f.want()})
	if err != nil {
		return nil, fmt.Errorf("fault of %s: %w", f.Path, err)
	}
	return b, nil
}
