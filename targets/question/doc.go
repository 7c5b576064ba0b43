// Package question asks many databases something at once: a query of a person, or statements of
// jobagent itself. It knows no jobs and no control database. [Each] runs a function on a session of
// each target, in parallel within a bound; [Question.Ask] asks the same T-SQL everywhere and passes
// the rows on as they come. The decisions are in ../DESIGN.md, "Questions".
package question
