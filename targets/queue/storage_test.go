package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
)

func TestStorageURL(t *testing.T) {
	for _, test := range []struct {
		queue action.StorageQueue
		want  string
	}{
		{action.StorageQueue{Account: "contoso", Queue: "jobs"}, "https://contoso.queue.core.windows.net/jobs/messages"},
		{action.StorageQueue{Account: "contoso.queue.core.chinacloudapi.cn", Queue: "jobs"}, "https://contoso.queue.core.chinacloudapi.cn/jobs/messages"},
		{action.StorageQueue{Account: "https://q.example:8443/dev/", Queue: "jobs"}, "https://q.example:8443/dev/jobs/messages"},
		{action.StorageQueue{Account: "http://127.0.0.1:10001/devstoreaccount1", Queue: "jobs", AllowHTTP: true},
			"http://127.0.0.1:10001/devstoreaccount1/jobs/messages"},
		{action.StorageQueue{Account: "contoso", Queue: "jobs", TimeToLive: -1}, "https://contoso.queue.core.windows.net/jobs/messages?messagettl=-1"},
		{action.StorageQueue{Account: "contoso", Queue: "jobs", TimeToLive: 1500 * time.Millisecond, VisibilityTimeout: time.Second},
			"https://contoso.queue.core.windows.net/jobs/messages?messagettl=2&visibilitytimeout=1"},
		{action.StorageQueue{Account: "contoso", Queue: "jobs", TimeToLive: -1, VisibilityTimeout: maxVisibility},
			"https://contoso.queue.core.windows.net/jobs/messages?messagettl=-1&visibilitytimeout=604800"},
	} {
		u, err := storageURL(&test.queue)
		require.NoError(t, err, test.want)
		require.Equal(t, test.want, u.String())
	}
}

func TestStorageURLFaults(t *testing.T) {
	for _, test := range []struct {
		queue action.StorageQueue
		part  string
	}{
		{action.StorageQueue{Account: "", Queue: "jobs"}, "storage account"},
		{action.StorageQueue{Account: "Contoso", Queue: "jobs"}, "storage account"},
		{action.StorageQueue{Account: "user:SECRET@a.example", Queue: "jobs"}, "storage account"},
		{action.StorageQueue{Account: "https://a.example/?sig=SECRET", Queue: "jobs"}, "storage account"},
		{action.StorageQueue{Account: "https://a.example/#SECRET", Queue: "jobs"}, "storage account"},
		{action.StorageQueue{Account: "ftp://a.example", Queue: "jobs"}, "scheme"},
		{action.StorageQueue{Account: "http://a.example", Queue: "jobs"}, "allow_http"},
		{action.StorageQueue{Account: "contoso", Queue: "q1"}, "queue name"},
		{action.StorageQueue{Account: "contoso", Queue: "Jobs"}, "queue name"},
		{action.StorageQueue{Account: "contoso", Queue: "a--b"}, "queue name"},
		{action.StorageQueue{Account: "contoso", Queue: "-ab"}, "queue name"},
		{action.StorageQueue{Account: "contoso", Queue: "abc/../x"}, "queue name"},
		{action.StorageQueue{Account: "contoso", Queue: "jobs", VisibilityTimeout: maxVisibility + 1}, "visibility_timeout"},
		{action.StorageQueue{Account: "contoso", Queue: "jobs", VisibilityTimeout: -1}, "visibility_timeout"},
		{action.StorageQueue{Account: "contoso", Queue: "jobs", TimeToLive: time.Minute, VisibilityTimeout: time.Minute}, "time to live"},
	} {
		_, err := storageURL(&test.queue)
		requireFault(t, err, test.part)
		require.NotContains(t, err.Error(), "SECRET")
	}
}

// recordedAnswer is what the service answers to Put Message
// (https://learn.microsoft.com/rest/api/storageservices/put-message), with its byte order mark.
const recordedAnswer = "\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessagesList><QueueMessage>" +
	"<MessageId>5974b586-0df3-4e2d-ad0c-18e3892bfca2</MessageId><InsertionTime>Fri, 09 Oct 2026 21:04:30 GMT</InsertionTime>" +
	"<ExpirationTime>Fri, 16 Oct 2026 21:04:30 GMT</ExpirationTime><PopReceipt>YzQ4Yzg1MDItYTc0Ny00OWNjLTkxYTUtZGM0MDFiZDAwYzEw</PopReceipt>" +
	"<TimeNextVisible>Fri, 09 Oct 2026 23:29:20 GMT</TimeNextVisible></QueueMessage></QueueMessagesList>"

func TestParseStorageAnswer(t *testing.T) {
	m, err := parseStorageAnswer(recordedAnswer)
	require.NoError(t, err)
	require.Equal(t, storageAnswer{
		MessageID: "5974b586-0df3-4e2d-ad0c-18e3892bfca2", InsertionTime: "Fri, 09 Oct 2026 21:04:30 GMT",
		ExpirationTime: "Fri, 16 Oct 2026 21:04:30 GMT", TimeNextVisible: "Fri, 09 Oct 2026 23:29:20 GMT",
	}, m)
	for _, body := range []string{"", "x", "<html>", "<QueueMessagesList/>", "<QueueMessagesList><QueueMessage/></QueueMessagesList>",
		`<?xml version="1.0" encoding="utf-16"?><QueueMessagesList/>`, "<Error><Code>x</Code></Error>"} {
		_, err := parseStorageAnswer(body)
		require.Error(t, err, body)
	}
}

func TestParseStorageFault(t *testing.T) {
	require.Equal(t, storageFault{Code: "QueueNotFound", Message: "The specified queue does not exist."},
		parseStorageFault("\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>QueueNotFound</Code><Message>"+
			"The specified queue does not exist.\nRequestId:a\nTime:2026-10-09T21:04:30Z</Message></Error>"))
	require.Zero(t, parseStorageFault("<html><title>502 Bad Gateway</title></html>"))
}

func TestOneLine(t *testing.T) {
	require.Equal(t, "a b c", oneLine(" a\r\n\tb\x00\u0085c ", 10))
	require.Equal(t, "ü…", oneLine("üüü", 5), "a character is not split")
	require.Equal(t, "\uFFFD", oneLine("\xff", 10))
}
