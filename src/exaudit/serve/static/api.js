// Requests to the workbench. What changes something carries a header that pages of others cannot send.
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function api(path, { method = "GET", json, text, signal } = {}) {
  const headers = method === "GET" ? {} : { "x-exaudit": "1" };
  if (json !== undefined) headers["content-type"] = "application/json";
  if (text !== undefined) headers["content-type"] = "text/plain";
  const body = json !== undefined ? JSON.stringify(json) : text;
  let answer;
  try {
    answer = await fetch(path, { method, headers, body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The workbench does not answer; is it still running?", 0);
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(said.error || `The workbench says ${answer.status}.`, answer.status);
  return said;
}

export const query = (values) => {
  const wanted = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return new URLSearchParams(wanted).toString();
};

// A job until it ends; `told` hears of its progress.
export async function finished(job, told = () => {}) {
  let wait = 60;
  while (["waiting", "running"].includes(job.status)) {
    told(job);
    await new Promise((resume) => setTimeout(resume, wait));
    wait = Math.min(500, wait * 1.4);
    job = await api(`/api/jobs/${job.id}`);
  }
  if (job.status === "failed") throw new Refused(job.error, 500);
  return job;
}
