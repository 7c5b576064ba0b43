package model

// Overlap is a policy for what is due while an earlier run of the same schedule is active.
type Overlap struct {
	Name string
	// Choice offers the policy for a backfill, and Sentence says what it does in a schedule.
	Choice, Sentence string
}

// Overlaps are the policies; jobs_internal.check_overlap decides on their names.
var Overlaps = []Overlap{
	{"Skip", "Skip instants while a run is active", "While an earlier run is active, an instant is recorded as skipped."},
	{"BufferOne", "Keep one waiting instant",
		"While an earlier run is active, one instant waits until it ends. Further ones are recorded as skipped."},
	{OverlapBufferAll, "One run after the other", "While an earlier run is active, all instants wait, and run one after the other."},
	{"CancelOther", "Cancel the active run", "An earlier run that is active is stopped, and the instant waits until it has ended."},
	{"TerminateOther", "End the active run at once", "An earlier run that is active is stopped, and the new run begins at once."},
	{"AllowAll", "All at once", "While an earlier run is active, the new run begins beside it."},
	{"Elastic", "All at once, without busy targets",
		"While an earlier run is active, the new run begins beside it. Targets that the earlier run is busy on at the same step are skipped."},
}

// OverlapBufferAll is the policy of a backfill that names none.
const OverlapBufferAll = "BufferAll"

// OverlapNames lists the names of the policies.
func OverlapNames() []string {
	names := make([]string, len(Overlaps))
	for i, o := range Overlaps {
		names[i] = o.Name
	}
	return names
}

// DefaultOverlap is the policy of a schedule of a kind that names none.
func DefaultOverlap(kind string) string {
	switch kind {
	case "elastic":
		return "Elastic"
	case "sap":
		return "AllowAll"
	}
	return "Skip"
}
