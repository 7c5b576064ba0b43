package scheduler

// SetPages sets the size of pages of histories, and the number of runs that one query reads.
func (s *Surface) SetPages(historySize, runsAtOnce int) {
	s.historySize, s.runsAtOnce = historySize, runsAtOnce
}
