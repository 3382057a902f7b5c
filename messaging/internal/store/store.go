// Package store holds the product's SQL (queries/*.sql, with the code that sqlc generates
// from it in dbgen) and the changes of contacts, tickets and messages. A change that is a
// method here publishes its events in its own transaction. Queries of dbgen publish nothing:
// outside of this package those tables are only read, but for the writes that silentWrites lists
// in hub/hubtest/queries_test.go.
//
// Received messages and receipts are taken as drivers pass them: as [driver.Incoming] and
// [driver.Receipt], which is why a store imports the drivers' package.
package store

//go:generate make -C ../../.. generate

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/lease"
	"integrationhub/hub/module/tx"
	"integrationhub/messaging/internal/store/dbgen"
)

// Store is the product's database. The embedded queries run outside of transactions.
type Store struct {
	*dbgen.Queries
	host          module.Host
	webhooks      WebhookData
	holder        string // of leases: this process
	ticketCounter *ticketCounter
}

// New returns the store of an opened product. webhooks makes the data of its plain webhooks.
func New(host module.Host, webhooks WebhookData) *Store {
	return &Store{dbgen.New(host.Pool), host, webhooks, lease.NewHolder(), &ticketCounter{}}
}

// Tx is a transaction. The embedded queries run in it.
type Tx struct {
	*dbgen.Queries
	*tx.Tx
	webhooks      WebhookData
	sealer        module.Sealer
	ticketCounter *ticketCounter
}

// InTx runs work in one transaction, like [tx.Run]; doing describes the work, such as
// "receiving a message".
//
// To avoid deadlocks, every transaction locks rows in this order: connections, contacts,
// tickets, messages, the outbox.
func (s *Store) InTx(ctx context.Context, doing string, work func(tx *Tx) error) error {
	return tx.Run(ctx, s.host, doing, func(t *tx.Tx) error {
		return work(&Tx{dbgen.New(t.Raw), t, s.webhooks, s.host.Sealer, s.ticketCounter})
	})
}

// Join returns a Tx for a transaction that the caller began and will end.
func (s *Store) Join(raw pgx.Tx) *Tx {
	return &Tx{dbgen.New(raw), tx.Join(s.host, raw), s.webhooks, s.host.Sealer, s.ticketCounter}
}

// Scope is the company whose data a request or a change is about.
type Scope struct {
	Company int64
	Tenant  uuid.UUID // the company, as the hub knows it
}

// environment is that of all events: a company has one set of data.
const environment = hub.Live
