package rrule

import (
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// warnOfItems warns of items of a list that never match beside items that do.
func (r *rule) warnOfItems(p *syntax.Parser, pattern engine.Pattern) {}
