package ledgertest

import (
	"context"

	"integrationhub/hub/internal/ledger/query"
)

// DailyBalances returns the balance of every day in the log that has deliveries, oldest
// first. It counts every row.
func DailyBalances(ctx context.Context, reader *query.Reader) ([]query.Balance, error) {
	days, err := reader.Days(ctx)
	if err != nil {
		return nil, err
	}
	var balances []query.Balance
	for _, day := range days {
		balance, err := reader.DayBalance(ctx, day)
		if err != nil {
			return nil, err
		}
		if balance != (query.Balance{Day: day}) {
			balances = append(balances, balance)
		}
	}
	return balances, nil
}
