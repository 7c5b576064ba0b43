package model

// AlertCondition is what a rule of alerts watches; jobs.sp_add_alert describes the conditions.
type AlertCondition string

// The conditions.
const (
	AlertRunEnded             AlertCondition = "RunEnded"
	AlertTargetsFailed        AlertCondition = "TargetsFailed"
	AlertRunTooLong           AlertCondition = "RunTooLong"
	AlertRunNotStarted        AlertCondition = "RunNotStarted"
	AlertNoRun                AlertCondition = "NoRun"
	AlertScheduleFaulted      AlertCondition = "ScheduleFaulted"
	AlertSchedulePaused       AlertCondition = "SchedulePaused"
	AlertAgentSilent          AlertCondition = "AgentSilent"
	AlertNoAgent              AlertCondition = "NoAgent"
	AlertRolloutStopped       AlertCondition = "RolloutStopped"
	AlertRolloutApprovalWaits AlertCondition = "RolloutApprovalWaits"
	AlertRolloutBakeEnds      AlertCondition = "RolloutBakeEnds"
	AlertRolloutDeadlineNear  AlertCondition = "RolloutDeadlineNear"
	AlertTargetsChanged       AlertCondition = "TargetsChanged"
)

// AlertConditions lists the conditions in the order of the documents.
func AlertConditions() []AlertCondition {
	return []AlertCondition{
		AlertRunEnded, AlertTargetsFailed, AlertRunTooLong, AlertRunNotStarted, AlertNoRun, AlertScheduleFaulted, AlertSchedulePaused,
		AlertAgentSilent, AlertNoAgent, AlertRolloutStopped, AlertRolloutApprovalWaits, AlertRolloutBakeEnds, AlertRolloutDeadlineNear,
		AlertTargetsChanged,
	}
}

// IsAboutJobs reports whether a rule with the condition can be about one job, or jobs with some
// names.
func (c AlertCondition) IsAboutJobs() bool {
	return c != AlertAgentSilent && c != AlertNoAgent && c != AlertTargetsChanged
}

// UsesSeconds reports whether a rule with the condition has a grace period, an age or a time before
// an event.
func (c AlertCondition) UsesSeconds() bool {
	_, hasDefault := c.DefaultSeconds()
	return hasDefault || c == AlertNoRun
}

// DefaultSeconds returns the seconds of a rule that does not give them, if the condition has a
// default: jobs_internal.store_alert.
func (c AlertCondition) DefaultSeconds() (seconds int, ok bool) {
	switch c {
	case AlertRunTooLong, AlertRunNotStarted, AlertNoAgent:
		return 60, true
	case AlertSchedulePaused:
		return 86400, true
	case AlertAgentSilent:
		return 30, true
	case AlertRolloutBakeEnds:
		return 300, true
	case AlertRolloutDeadlineNear, AlertTargetsChanged:
		return 3600, true
	}
	return 0, false
}
