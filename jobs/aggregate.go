package jobs

// Aggregate is a parent's lifecycle as a function of its children's (invariant I6): a step's of its
// targets', a root's of its steps'. While a child is active it is WaitingForChildJobExecutions. When
// all are terminal, the first of these that a child has decides:
//
//	Canceled              somebody stopped the run: children are Canceled by nothing else
//	Failed                an error outweighs a time limit: it says more
//	TimedOut
//	SucceededWithSkipped  also when a child is Skipped
//	Succeeded             also without children (decision 5)
//
// It is not a lifecycle when a child is none.
func Aggregate(children ...Lifecycle) Lifecycle {
	has := make(map[Lifecycle]bool, len(children))
	for _, c := range children {
		if !c.Valid() {
			return ""
		}
		if c.Active() {
			c = WaitingForChildJobExecutions
		}
		if c == Skipped {
			c = SucceededWithSkipped
		}
		has[c] = true
	}
	for _, l := range []Lifecycle{WaitingForChildJobExecutions, Canceled, Failed, TimedOut, SucceededWithSkipped} {
		if has[l] {
			return l
		}
	}
	return Succeeded
}

// StartsNextStep says whether the step after one that ended so is started (decision 7).
func StartsNextStep(l Lifecycle) bool { return l == Succeeded || l == SucceededWithSkipped }
