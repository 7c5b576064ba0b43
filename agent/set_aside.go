package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
)

const (
	// refusedPasses is how many passes in a row must be refused before the cause is searched: a
	// constraint may have been added and removed at once.
	refusedPasses = 2
	// searchTime bounds a search and a round of tries. Meanwhile this agent makes no pass, so stop
	// requests wait for it.
	searchTime = 10 * time.Second
)

var (
	errSearchTime = errors.New("the search takes too long")
	errSkipped    = errors.New("another session holds the application lock jobagent.advance")
)

// passFailed handles the error of a pass, or returns it. If the control database has refused the
// data of several passes in a row, passFailed sets the runs, schedules and triggers aside that are
// the cause (sql/DESIGN.md, "Set aside"), and returns nil if there is one.
func (c *controller) passFailed(ctx context.Context, err error) error {
	if !refusesData(err) {
		c.refused = 0
		return err
	}
	if c.refused++; c.refused < refusedPasses {
		return err
	}
	s := c.newSearch()
	ranges, failure := s.tryPart(ctx, controldb.Part{})
	if refusesData(failure) {
		c.log.Error("the control database refuses passes, and no run, schedule or trigger is the cause", zap.Error(failure))
		return err
	}
	for _, part := range ranges {
		if failure == nil {
			_, failure = s.search(ctx, part, nil)
		}
	}
	switch {
	case s.found > 0 && (failure == nil || errors.Is(failure, errSearchTime)):
		return nil
	case failure == nil || errors.Is(failure, errSearchTime) || errors.Is(failure, errSkipped):
		return err
	}
	return failure
}

// search finds what the control database refuses.
type search struct {
	*controller
	ends  time.Time
	found int // what was set aside
}

func (c *controller) newSearch() *search {
	return &search{controller: c, ends: time.Now().Add(searchTime)}
}

// tryPart advances a part of the executions.
func (s *search) tryPart(ctx context.Context, p controldb.Part) ([]controldb.Part, error) {
	if time.Now().After(s.ends) {
		return nil, errSearchTime
	}
	s.cfg.Alive()
	p.MaxTasks = s.cfg.MaxConcurrentTargets
	ranges, skipped, err := s.store.AdvancePart(ctx, s.term.ID, p)
	if err == nil && skipped {
		err = errSkipped
	}
	return ranges, err
}

// search advances the part p, or sets what is refused of it aside, one by one, by halves. refused
// is the error if p is known to be refused. The result says whether anything was set aside. An
// error means that the search has not ended.
func (s *search) search(ctx context.Context, p controldb.Part, refused error) (bool, error) {
	if refused == nil {
		if _, refused = s.tryPart(ctx, p); refused == nil {
			return false, nil
		}
		if !refusesData(refused) {
			return false, refused
		}
	}
	if p.First == p.Last {
		// Again: the error of the whole may not be one of this part.
		if _, refused = s.tryPart(ctx, p); refused == nil {
			return false, nil
		}
		if !refusesData(refused) {
			return false, refused
		}
		s.found++
		what, err := s.setAside(ctx, p, refused)
		if err == nil {
			s.log.Error("set aside, because the control database refuses what a pass would store", what...)
		}
		return true, err
	}
	first, second := p, p
	first.Last = p.First + (p.Last-p.First)/2
	second.First = first.Last + 1
	found, err := s.search(ctx, first, nil)
	if err != nil {
		return found, err
	}
	if found {
		refused = nil
	}
	also, err := s.search(ctx, second, refused)
	return found || also, err
}

// setAside sets a run, schedule or trigger aside, and returns the fields of the log entry.
func (c *controller) setAside(ctx context.Context, p controldb.Part, refused error) ([]zap.Field, error) {
	what, err := c.store.SetAside(ctx, c.term.ID, p, describeRefusal(refused))
	return []zap.Field{
		zap.String(keyKind, p.Kind), zap.String(keyJobName, what.JobName), zap.Stringer(keyExecutionID, what.JobExecutionID),
		zap.String(keyName, what.Name), zap.String(keyReason, what.Message),
	}, err
}

// describeRefusal returns the error of the server in at most 1,000 characters.
func describeRefusal(err error) string {
	server, ok := dberror.ServerError(err)
	if !ok {
		return err.Error()
	}
	text := []rune(fmt.Sprintf("error %d in %s, line %d: %s", server.Number, server.ProcName, server.LineNo, server.Message))
	return string(text[:min(len(text), 1000)])
}

// tryAgain tries what is set aside and due again: all of it at once, which suffices if the cause
// was removed, then one by one. What is refused again stays set aside.
func (c *controller) tryAgain(ctx context.Context) error {
	taken, err := c.store.TakeSetAsides(ctx, c.term.ID)
	if err != nil || len(taken) == 0 {
		return err
	}
	s := c.newSearch()
	if len(taken) > 1 {
		_, err := s.tryPart(ctx, controldb.Part{TriedAt: taken[0].TriedAt})
		if err == nil {
			c.log.Info("no longer set aside", zap.Int(keyCount, len(taken)))
			return nil
		}
		if !refusesData(err) {
			return ended(err)
		}
	}
	back := 0
	for _, t := range taken {
		_, err := s.tryPart(ctx, t.Part())
		switch {
		case err == nil:
			back++
		case !refusesData(err):
			return ended(err)
		default:
			what, err := c.setAside(ctx, t.Part(), err)
			if err != nil {
				return err
			}
			c.log.Warn("refused again, and still set aside", what...)
		}
	}
	if back > 0 {
		c.log.Info("no longer set aside", zap.Int(keyCount, back))
	}
	return nil
}

// ended returns nil for the end of a search that its next round continues, and other errors.
func ended(err error) error {
	if errors.Is(err, errSearchTime) || errors.Is(err, errSkipped) {
		return nil
	}
	return err
}
