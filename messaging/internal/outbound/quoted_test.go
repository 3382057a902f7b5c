package outbound_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// A message whose quoted message is deleted before it is sent arrives without the quotation.
func TestQuotedMessageIsDeleted(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, monday)
	talk := newConversation(company, company.Connect())
	question := company.Get(talk.ticket + "/messages")["messages"].([]any)[0].(object)
	company.SetNetwork("offline")
	company.OK(201, "POST", talk.ticket+"/messages", object{"body": "The answer", "quotedMsgId": question["id"]})
	company.OK(201, "POST", talk.ticket+"/messages", object{"body": "Anything else?"})
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `delete from messages where id = $1`, question["id"])
	require.NoError(t, err)
	company.SetNetwork("online")
	company.FlushOutbox()
	require.Equal(t, []string{"The answer", "Anything else?"}, company.Inbox(talk.phone))
	require.Equal(t, 2, count(company, `select count(*) from messages where from_me and ack = 2`))
	require.Zero(t, count(company, `select count(*) from sandbox_messages where quoted_id is not null`))
}
