package schedule

import (
	"slices"
	"time"
)

// resolve returns the instants of a clock time.
func (r *wordReader) resolve(civil time.Time, gap, overlap string) []time.Time {
	var found []time.Time
	_, before := civil.Add(-30 * time.Hour).In(r.zone).Zone()
	_, after := civil.Add(30 * time.Hour).In(r.zone).Zone()
	if before == after {
		return []time.Time{civil.Add(-time.Duration(before) * time.Second)}
	}
	for _, offset := range []int{before, after} {
		at := civil.Add(-time.Duration(offset) * time.Second)
		if _, actual := at.In(r.zone).Zone(); actual == offset {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	switch {
	case len(found) == 2 && overlap == "first":
		return found[:1]
	case len(found) == 2 && overlap == "second":
		return found[1:]
	case len(found) > 0 || gap == "skip":
		return found
	case gap == "shift":
		return []time.Time{civil.Add(-time.Duration(before) * time.Second)}
	}
	// The end of the gap: the first instant with the offset after it.
	low, high := civil.Add(-30*time.Hour).Unix(), civil.Add(30*time.Hour).Unix()
	for low < high {
		middle := (low + high) / 2
		if _, offset := time.Unix(middle, 0).In(r.zone).Zone(); offset == before {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return []time.Time{time.Unix(low, 0).UTC()}
}

// between returns the first n instants after one instant and before another one.
func (r *wordReader) between(after, before time.Time, n int) []time.Time {
	bounded := func(at time.Time) bool {
		return !at.Before(r.from) && (r.until.IsZero() || !at.After(r.until))
	}
	var list []time.Time
	for _, at := range r.once {
		if at.After(after) && at.Before(before) && bounded(at) {
			list = append(list, at.UTC())
		}
	}
	from, most := after, n
	if r.runs > 0 { // all instants of the rule have to be counted
		from, most = r.from.Add(-time.Second), r.runs
		if r.from.IsZero() {
			from = r.base.Add(-72 * time.Hour)
		}
	}
	for _, last := range []time.Time{r.until, r.ends} {
		if !last.IsZero() && last.Before(before) {
			before = last.Add(time.Second)
		}
	}
	var rule []time.Time
	seen := map[int64]bool{} // a clock time in a gap may become another one
	keep := func(at time.Time) bool {
		if at.After(from) && at.Before(before) && bounded(at) && (r.ends.IsZero() || !at.After(r.ends)) {
			if !seen[at.Unix()] {
				rule = append(rule, at.UTC())
			}
			seen[at.Unix()] = true
		}
		return len(rule) < most+len(r.without)+len(r.once)
	}
	switch {
	case r.nothing:
	case r.step > 0 && !r.onClock:
		r.steps(from, before, keep)
	case r.positions != nil:
		r.chosen(from, before, keep)
	default:
		r.listDays(from, before, keep)
	}
	slices.SortFunc(rule, time.Time.Compare)
	if r.runs > 0 {
		rule = rule[:min(len(rule), r.runs)]
	}
	list = append(list, rule...)
	slices.SortFunc(list, time.Time.Compare)
	out := []time.Time{}
	for _, at := range slices.CompactFunc(list, time.Time.Equal) {
		if at.After(after) && len(out) < n && !slices.ContainsFunc(r.without, at.Equal) {
			out = append(out, at.UTC())
		}
	}
	return out
}

// steps calls keep for the instants of elapsed time.
func (r *wordReader) steps(after, before time.Time, keep func(time.Time) bool) {
	step := int64(r.step / time.Second)
	first := int64(0)
	if after.After(r.base) {
		first = (after.Unix()-r.base.Unix())/step - 1
	}
	for k := max(0, first); ; k++ {
		at := time.Unix(r.base.Unix()+k*step, 0)
		if !at.Before(before) {
			return
		}
		for _, o := range r.offsets {
			if !keep(at.Add(o)) {
				return
			}
		}
	}
}

// steady reports whether the zone has one offset around a day.
func (r *wordReader) steady(day time.Time) (offset int, ok bool) {
	_, before := day.Add(-54 * time.Hour).In(r.zone).Zone()
	_, after := day.Add(54 * time.Hour).In(r.zone).Zone()
	return before, before == after
}

// listDays calls keep for the instants of days. A change of clocks moves instants by less than a
// day, so that it goes on for two more days around one.
func (r *wordReader) listDays(after, before time.Time, keep func(time.Time) bool) {
	more := 2
	for day := after.UTC().Truncate(24*time.Hour).AddDate(0, 0, -2); day.Before(before.AddDate(0, 0, 2)) && more > 0; day = day.AddDate(0, 0, 1) {
		if !all(r.days, day) {
			continue
		}
		offset, steady := r.steady(day)
		enough := false
		each := func(s int) bool {
			civil := day.Add(time.Duration(s) * time.Second)
			if steady {
				return keep(civil.Add(-time.Duration(offset) * time.Second))
			}
			for _, at := range r.resolve(civil, r.gap, r.overlap) {
				enough = !keep(at) || enough
			}
			return true
		}
		if r.step > 0 {
			enough = !r.stepsOfDay(day, each) || enough
		} else {
			for _, s := range r.seconds {
				if !each(s) {
					enough = true
					break
				}
			}
		}
		if enough {
			more--
			if steady {
				return
			}
		}
	}
}

// stepsOfDay calls each for the seconds of a day on which steps of the clock fall, until it returns
// false.
func (r *wordReader) stepsOfDay(day time.Time, each func(int) bool) bool {
	step := int64(r.step / time.Second)
	for hour := range 24 {
		if r.hours != nil && !slices.Contains(r.hours, hour) {
			continue
		}
		begin := day.Unix() + int64(hour)*3600
		k := max(0, (begin-r.base.Unix()+step-1)/step)
		for at := r.base.Unix() + k*step; at < begin+3600; at += step {
			second := int(at - day.Unix())
			if slices.ContainsFunc(r.clock, func(is func(h, m, s int) bool) bool { return !is(hour, second/60%60, second%60) }) {
				continue
			}
			for _, o := range r.offsets {
				if !each(second + int(o/time.Second)) {
					return false
				}
			}
		}
	}
	return true
}

// chosen calls keep for the instants at the positions of each period.
func (r *wordReader) chosen(after, before time.Time, keep func(time.Time) bool) {
	day := after.UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	begins := func(d time.Time) bool {
		return r.period == "week" && d.Weekday() == r.weekStart || r.period == "month" && d.Day() == 1 || r.period == "year" && d.YearDay() == 1
	}
	for !begins(day) {
		day = day.AddDate(0, 0, -1)
	}
	var period []time.Time
	for ; day.Before(before.AddDate(1, 0, 0)); day = day.AddDate(0, 0, 1) {
		if begins(day) {
			enough := false
			for i, civil := range period {
				if slices.Contains(r.positions, i+1) || slices.Contains(r.positions, i-len(period)) {
					for _, at := range r.resolve(civil, r.gap, r.overlap) {
						enough = !keep(at) || enough
					}
				}
			}
			if period = nil; enough {
				return
			}
		}
		if all(r.days, day) {
			for _, s := range r.seconds {
				period = append(period, day.Add(time.Duration(s)*time.Second))
			}
		}
	}
}

func all(conditions []func(time.Time) bool, at time.Time) bool {
	for _, c := range conditions {
		if !c(at) {
			return false
		}
	}
	return true
}
