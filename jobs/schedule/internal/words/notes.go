package words

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Notes returns what may be misread, one sentence each.
func (r *Rule) Notes() []string {
	notes := slices.Clone(r.Remarks)
	if !r.At.IsZero() || r.OnlyWith {
		return notes
	}
	d := r.Days.normal()
	monthDays, weekdays := d.MonthDays != nil || d.Workdays != nil || d.BeforeLastWorkday != nil, d.Weekdays != 0 || d.Nth != nil
	switch {
	case monthDays && weekdays && d.Either:
		notes = append(notes, "Either is enough: a day of the month or a weekday that matches.")
	case monthDays && weekdays:
		notes = append(notes, "Both must match: the day of the month and the weekday.")
	}
	if _, chosen := r.chosenDays(); len(d.Workdays)+len(d.BeforeLastWorkday) > 0 || chosen && r.Positions != nil && d.Weekdays == 0x1f {
		notes = append(notes, "Working days are Monday to Friday: holidays are not known.")
	}
	if slices.ContainsFunc(d.Workdays, func(n int) bool { return n != -1 }) {
		notes = append(notes, "The nearest working day is searched within the month.")
	}
	if d.Weeks != nil {
		notes = append(notes, "Week 1 is the first week with four days or more in its year.")
		if slices.Contains(d.Weeks, 53) || slices.Contains(d.Weeks, -53) {
			notes = append(notes, "Years with 52 weeks have no week 53.")
		}
	}
	if slices.Contains(d.YearDays, 366) || slices.Contains(d.YearDays, -366) {
		notes = append(notes, "Only leap years have 366 days.")
	}
	for _, note := range []string{d.missingDay(), d.missingWeekday(), r.midnight(), r.unevenSteps()} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// longest returns the greatest length of a month.
func longest(month int) int {
	if month == 2 {
		return 29
	}
	return civil.MonthLength(2000, time.Month(month))
}

// missingDay says that months without a day are left out.
func (d Days) missingDay() string {
	if d.OrLast {
		return ""
	}
	months := d.Months
	if months == 0 {
		months = 0x1ffe
	}
	highest := 0
	for _, r := range d.MonthDays {
		n := max(r.From, -r.From)
		if r.From == r.To && n > 28 {
			highest = max(highest, n)
		} else if r.From != r.To {
			return "" // a range ends with the month
		}
	}
	if highest == 0 {
		return ""
	}
	short, february := false, months>>2&1 == 1
	for m := 1; m <= 12; m++ {
		short = short || months>>m&1 == 1 && longest(m) < highest
	}
	switch {
	case short:
		return "Months without such a day are left out."
	case february && months == 1<<2:
		return "February has this day only in leap years."
	case february && highest == 29:
		return "February has this day only in leap years; in other years it is left out."
	}
	return ""
}

// missingWeekday says that months without a fifth weekday are left out.
func (d Days) missingWeekday() string {
	for _, o := range d.Nth {
		switch n := max(o.N, -o.N); {
		case n == 5 && !d.NthOfYear:
			return fmt.Sprintf("Months without a fifth %s are left out.", civil.WeekdayNames[o.Day])
		case n == 53 && d.NthOfYear:
			return fmt.Sprintf("Years without a 53rd %s are left out.", civil.WeekdayNames[o.Day])
		}
	}
	return ""
}

// midnight says to which night 00:00 belongs, if weekdays are chosen.
func (r *Rule) midnight() string {
	d := r.Days.normal()
	if r.Grid != nil || d.Weekdays == 0 && d.Nth == nil || !slices.Equal(r.Times.All(), []int32{0}) {
		return ""
	}
	return "00:00 is the beginning of the day: the night before it."
}

// unevenSteps says that a repetition begins anew, if its last distance is shorter.
func (r *Rule) unevenSteps() string {
	t := product(r.Times)
	if r.Grid != nil || t.List != nil {
		return ""
	}
	uneven := func(mask uint64, length int) int {
		k := distance(mask)
		if bits.OnesCount64(mask) < minRun || k < 2 {
			return 0
		}
		first, last := bits.TrailingZeros64(mask), bits.Len64(mask)-1
		if rest := first + length - last; rest < k && first < k {
			return rest
		}
		return 0
	}
	if rest := uneven(t.Minutes, 60); rest > 0 && t.Hours == allHours {
		return fmt.Sprintf("The minutes begin anew with each hour: the last distance is %s.", Length(int64(rest)*60))
	}
	if rest := uneven(uint64(t.Hours), 24); rest > 0 && bits.OnesCount64(t.Minutes) == 1 {
		return fmt.Sprintf("The hours begin anew with each day: the last distance is %s.", Length(int64(rest)*3600))
	}
	return ""
}
