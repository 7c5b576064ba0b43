package scheduler

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/scheduler"
)

// SetPages sets the size of pages of histories, and the number of runs that one query reads.
func (s *Surface) SetPages(historySize, runsAtOnce int) {
	s.historySize, s.runsAtOnce = historySize, runsAtOnce
}

// OpenPFX returns the bundle that a PFX becomes.
func OpenPFX(pfx, password string) (string, error) {
	bundle, _, err := openPFX(pfx, password, time.Now())
	return bundle, err
}

// MaxIterations bounds the derivations of a PFX.
const MaxIterations = maxIterations

// DecodePFX reads a PFX.
func DecodePFX(data []byte, password string) error {
	_, _, _, err := decodePFX(data, password)
	return err
}

// Translate translates a body of a job, or a patch of a job with a header and a recurrence.
func Translate(text string, patch bool) error {
	s := New(Config{}, nil, nil)
	old := scheduler.Job{
		Revision: 1, Schedule: `{"recurrence":{"frequency":"Day"}}`,
		Properties: `{"type":"Https","request":{"uri":"https://h/","method":"POST","headers":{"a":"b"}}}`,
	}
	r := &rest.Request{Path: map[string]string{"job": "j"}, Body: []byte(text)}
	if patch {
		if err := checkPatch(r.Body); err != nil {
			return err
		}
		if state, only := onlyState(r.Body); only {
			_, err := enabledOf(state)
			return err
		}
	}
	_, err := s.specOf(context.Background(), r, place{Entry: &rest.Entry{}}, old, r.Body, patch)
	return err
}
