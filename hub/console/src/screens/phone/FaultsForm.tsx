import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useLanguage } from "../../i18n";
import page from "../../ui/page.module.css";
import classes from "./Phone.module.css";
import { Outcome } from "./Outcome";
import { setFaults } from "./queries";

/** FaultsForm sets what the simulated network does wrong. */
export function FaultsForm() {
	const { t } = useLanguage();
	const apply = useMutation({ mutationFn: setFaults });
	const number = (name: string, label: string, max: number) => (
		<label className={classes.field}>
			<span className="quiet">{label}</span>
			<input name={name} className={page.select} type="number" min={0} max={max} defaultValue={0} required />
		</label>
	);
	const choice = (name: string, label: string) => (
		<label className={classes.choice}>
			<input name={name} type="checkbox" /> {label}
		</label>
	);
	return (
		<section className={`panel ${page.section}`} aria-labelledby="faults">
			<h2 id="faults">{t.phone.faults}</h2>
			<form
				className={classes.form}
				onSubmit={(event) => {
					event.preventDefault();
					const data = new FormData(event.currentTarget);
					apply.mutate({
						latencyMs: Number(data.get("latencyMs")),
						dropPercent: Number(data.get("dropPercent")),
						duplicatePercent: Number(data.get("duplicatePercent")),
						reorder: data.has("reorder"),
						lid: data.has("lid"),
					});
				}}
			>
				{number("latencyMs", t.phone.latency, 10_000)}
				{number("dropPercent", t.phone.drop, 100)}
				{number("duplicatePercent", t.phone.duplicate, 100)}
				{choice("reorder", t.phone.reorder)}
				{choice("lid", t.phone.lid)}
				<Button type="submit" size="xs" variant="default" loading={apply.isPending}>
					{t.phone.apply}
				</Button>
				<Outcome error={apply.error} text={apply.isSuccess ? t.phone.applied : ""} />
			</form>
		</section>
	);
}
