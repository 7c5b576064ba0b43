// Package cron implements the dialects that write a schedule as one line of fields: cron5 and cron6
// of crontab(5), and Quartz.
package cron
