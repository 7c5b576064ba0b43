package scheduler

import "time"

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
