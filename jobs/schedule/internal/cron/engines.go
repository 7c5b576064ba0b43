package cron

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// This file warns of lines that other engines read differently, if it matters for the line. The
// differences were found by comparison with these engines.

// sameDays reports whether two sets of days are equal. Dates and weekdays repeat after 28 years
// from 1901 to 2099.
func sameDays(a, b func(year int, month time.Month) uint32) bool {
	for year := 2001; year < 2029; year++ {
		for month := time.January; month <= time.December; month++ {
			if a(year, month) != b(year, month) {
				return false
			}
		}
	}
	return true
}

// zeroToSunday matches the range that croner reads as the whole week.
var zeroToSunday = regexp.MustCompile(`(?i)^(0|sun)-sun(/|$)`)

// warnOthers warns of what other engines for crontab(5) read differently: robfig/cron (Kubernetes),
// croniter (Airflow) and croner.
func (c *unixCron) warnOthers(p *syntax.Parser, parts []string, d *unixDays) {
	dayOfMonth, dayOfWeek := parts[len(parts)-3], parts[len(parts)-1]
	theirs := *d
	theirs.either = !hasStar(dayOfMonth) && !hasStar(dayOfWeek)
	if theirs.either != d.either && !sameDays(d.of, theirs.of) {
		if d.either {
			p.Warn("a day that matches either day field counts, as in crontab(5), because none begins with *; robfig/cron (Kubernetes) takes a day that matches both")
		} else {
			p.Warn("a day must match both day fields, as in crontab(5), because one begins with *; robfig/cron (Kubernetes), croniter (Airflow) and croner take a day that matches either")
		}
	}
	for part := range strings.SplitSeq(dayOfWeek, ",") {
		body, _, _ := strings.Cut(part, "/")
		from, to, _ := strings.Cut(body, "-")
		switch {
		case from == "7" || to == "7":
			p.Warn("the weekday 7 is Sunday, as in crontab(5); in Quartz it is Saturday, and robfig/cron (Kubernetes) refuses it")
		case zeroToSunday.MatchString(part) && d.weekdays != 0x7f:
			p.Warn(part + " is Sunday alone, as in cronie; croner reads it as every day")
		}
	}
}

// hasStar reports whether robfig/cron calls a day field unrestricted: a part of it is * or ?
// without a step, or with the step 1.
func hasStar(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		body, step, hasStep := strings.Cut(part, "/")
		if n, _ := strconv.Atoi(step); (body == "*" || body == "?") && (!hasStep || n == 1) {
			return true
		}
	}
	return false
}

// quartzNumber matches a weekday that is a number.
var quartzNumber = regexp.MustCompile(`(^|[,-])[0-9]`)

// warnOthers warns of what people who know crontab(5), and the Quartz for Java, read differently.
func (d *quartzDays) warnOthers(p *syntax.Parser, dayOfWeek string) {
	if quartzNumber.MatchString(dayOfWeek) && (d.weekdays != 0x7f || len(d.nth) > 0) {
		p.Warn("the weekday numbers are those of Quartz, where 1 is Sunday; in crontab 1 is Monday, and names such as MON are the same in both")
	}
	for _, day := range d.nearWeekday {
		if d.lacks(day) {
			p.Warn(strconv.Itoa(day) + "W has no run in a month without this day; Quartz for Java goes on into the next month")
		}
	}
}

// lacks reports whether one of the months does not have a day.
func (d *quartzDays) lacks(day int) bool {
	const of30, february = 1<<time.April | 1<<time.June | 1<<time.September | 1<<time.November, 1 << time.February
	return day == 31 && d.months&of30 != 0 || day > 28 && d.months&february != 0
}
